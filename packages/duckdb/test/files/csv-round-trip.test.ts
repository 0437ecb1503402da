import { writeFile } from 'node:fs/promises';
import { columnInfo, type CsvOptions, encodeCsv, type FrameStream } from '@svc/frames';
import { bytesOf } from '@svc/frames/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFilesFixture, type FilesFixture, textOf } from '../../src/testing/files-fixture.ts';

let fixture: FilesFixture;
beforeAll(async () => {
  fixture = await createFilesFixture();
  await fixture.files.warm();
});
afterAll(() => fixture.close());

/** Reads a CSV file: its columns as they can be declared, its rows as NDJSON, and a function that exports it. */
async function read(csv: string, options: CsvOptions = {}) {
  const [path, target] = [fixture.path(), fixture.path()];
  await writeFile(path, csv);
  const written = await fixture.files.convert({ kind: 'csv', path, ...options }, target, { compression: 'zstd' });
  const stream = (): FrameStream => fixture.files.read({ kind: 'parquet', path: target }, written);
  return {
    columns: written.schema.fields.map(columnInfo).map(({ name, type }) => ({ name, type })),
    rows: await textOf(stream()),
    exported: async () => (await bytesOf(encodeCsv(stream()))).toString(),
  };
}

/** For each type, values and forms that a file may have; one that must be declared reads back as another type. */
const COLUMNS: readonly (readonly [type: string, isDeclared: boolean, values: readonly string[]])[] = [
  ['BOOLEAN', false, ['true', 'FALSE', '']],
  ['LONG', false, ['-9223372036854775808', '9223372036854775807', '']],
  ['ULONG', false, ['18446744073709551615', '0', '']],
  ['LONG128', false, ['-170141183460469231731687303715884105728', '1', '']],
  ['DOUBLE', false, ['-0', '1e300', '5e-324', '0.1', '']],
  ['DATE', false, ['2024-01-02', '0001-01-01', '9999-12-31', '']],
  ['TIMESTAMP', false, ['2024-01-02T03:04:05.678901Z', '1969-12-31T23:59:59.999999Z', '']],
  ['TIMESTAMP_NS', false, ['2024-01-02T03:04:05.678901234Z', '']],
  ['STRING', false, ['"a,b"', '"line\nbreak"', '"say ""x"""', '""', '02134', 'NaN', '']],
  ['BYTE', true, ['-128', '']],
  ['INT', true, ['2147483647', '']],
  ['FLOAT', true, ['0.1', 'NaN', '-Infinity', '']],
  ['DOUBLE', true, ['NaN', 'Infinity', '-0', '']],
  ['DECIMAL(18,4)', true, ['12345678901234.5678', '-0.0001', '']],
  ['TIME', true, ['23:59:59.999999', '']],
  ['UUID', true, ['01234567-89ab-cdef-0123-456789abcdef', '']],
  ['SYMBOL', true, ['BTC', '']],
];

test.each(COLUMNS)('an export of %s (declared: %s) reads back as the same frame', async (type, isDeclared, values) => {
  const rows = values.map((value) => `${value},x\r\n`).join('');
  const declared = { columns: [{ name: 'c', type }, { name: 'd' }] };
  const first = await read(`c,d\r\n${rows}`, declared);
  expect(first.columns[0]?.type).toBe(type);
  const csv = await first.exported();
  const second = await read(csv, isDeclared ? declared : {});
  expect([second.columns, second.rows]).toEqual([first.columns, first.rows]);
  expect(await second.exported()).toBe(csv);
});
