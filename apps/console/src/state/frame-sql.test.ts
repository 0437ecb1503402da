import { expect, test } from 'vitest';
import type { CellLook } from '../rows/row-source.ts';
import { filterSql, sortSql } from './frame-sql.ts';

test('a sort has the largest values first, and nulls last', () => {
  expect(sortSql('trades', { name: 'Price', type: 'DOUBLE' })).toBe(
    'select *\nfrom trades\norder by "Price" desc nulls last\nlimit 1000',
  );
});

test.each<[string, string, CellLook, string | undefined]>([
  ['LONG', '9007199254740993', 'value', '= 9007199254740993'],
  ['DECIMAL(10,2)', '-1.10', 'value', '= -1.10'],
  ['DOUBLE', '0.1', 'value', "= '0.1'::double"],
  ['DOUBLE', 'NaN', 'nan', "= 'NaN'::double"],
  ['STRING', "it's", 'value', "= 'it''s'"],
  ['STRING', '', 'empty', "= ''"],
  ['STRING', 'null', 'value', "= 'null'"],
  ['STRING', '', 'null', 'is null'],
  ['ARRAY', '', 'null', 'is null'],
  ['ARRAY', '[1]', 'value', undefined],
  ['BINARY', 'AAE=', 'value', "= from_base64('AAE=')"],
  ['TIMESTAMP', '2024-01-02T03:04:05.678901Z', 'value', "= '2024-01-02T03:04:05.678901Z'"],
])('the rows with the %s %j (%s) are those %s', (type, text, look, condition) => {
  const sql = filterSql('a-b', { name: 'c', type }, { look, text });
  expect(sql).toBe(condition && `select *\nfrom "a-b"\nwhere c ${condition}\nlimit 1000`);
});
