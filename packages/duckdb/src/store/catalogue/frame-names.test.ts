import { expect, test } from 'vitest';
import { folderOfTenant, parseFileName, tenantOfFolder } from './frame-names.ts';

const V = '01M7EY6RV4XGCAW41JMB7D644V';

test.each([
  [`trades@${V}.parquet`, { kind: 'unknown' }],
  [`.tmp-0123`, { kind: 'unfinished' }],
  [`trades.parquet`, { kind: 'foreign', handle: 'trades', format: 'parquet' }],
  [`trades.2024.csv`, { kind: 'foreign', handle: 'trades.2024', format: 'csv' }],
  [`trades.arrow`, { kind: 'foreign', handle: 'trades', format: 'arrow' }],
  [`trades.tsv`, { kind: 'foreign', handle: 'trades', format: 'tsv' }],
  [`trades.csv.gz`, { kind: 'foreign', handle: 'trades', format: 'csv.gz' }],
  [`trades.json.jsonl`, { kind: 'foreign', handle: 'trades.json', format: 'jsonl' }],
  [`a@b.json`, { kind: 'unknown' }],
  [`trades.gz`, { kind: 'unknown' }],
  [`my file.csv`, { kind: 'unknown' }],
  [`.hidden.csv`, { kind: 'unknown' }],
  [`.csv`, { kind: 'unknown' }],
  [`csv`, { kind: 'unknown' }],
  [`notes.txt`, { kind: 'unknown' }],
])('the file %s', (name, parsed) => {
  expect(parseFileName(name)).toEqual(parsed);
});

test.each([
  ['default', 'default'],
  ['team-1.eu', 'team-1.eu'],
  ['Team', '%54eam'],
  ['..', '%2e.'],
  ['a/b', 'a%2fb'],
  ['é', '%c3%a9'],
])('the tenant %s has the folder %s', (tenant, folder) => {
  expect(folderOfTenant(tenant)).toBe(folder);
  expect(tenantOfFolder(folder)).toBe(tenant);
});

test.each(['Default', '%41a%', '.git', 'lost+found', '%2E.', ''])('no tenant has the folder %s', (folder) => {
  expect(tenantOfFolder(folder)).toBeUndefined();
});
