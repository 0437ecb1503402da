import { writeFile } from 'node:fs/promises';
import { columnInfo, type CsvOptions } from '@svc/frames';
import { Field, Float64, Int32, Int64, Schema, TimestampMicrosecond, Utf8 } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFilesFixture, type FilesFixture, textOf } from '../../src/testing/files-fixture.ts';
import { comparable, expectedColumn, rawValues } from './csv-oracle.ts';

let fixture: FilesFixture;
beforeAll(async () => {
  fixture = await createFilesFixture();
  await fixture.files.warm();
});
afterAll(() => fixture.close());

const COMPRESSION = { compression: 'zstd', level: 1 } as const;

async function saved(body: string): Promise<string> {
  const path = fixture.path();
  await writeFile(path, body);
  return path;
}

async function convert(
  body: string,
  options: CsvOptions & { addedTo?: Schema } = {},
): Promise<{ types: string[]; lines: string[] }> {
  const target = fixture.path();
  const written = await fixture.files.convert(
    { kind: 'csv', path: await saved(body), ...options },
    target,
    COMPRESSION,
  );
  const text = await textOf(fixture.files.read({ kind: 'parquet', path: target }, written));
  return { types: written.schema.fields.map((field) => columnInfo(field).type), lines: text.split('\n').slice(0, -1) };
}

/** Columns, the type of each, and how its values are written back if not as they are. */
const COLUMNS: readonly (readonly [type: string, texts: readonly string[], back?: readonly string[]])[] = [
  ['LONG', ['0', '-1', '9223372036854775807', '-9223372036854775808']],
  ['ULONG', ['0', '18446744073709551615']],
  ['LONG128', ['-1', '18446744073709551615']],
  ['LONG128', ['170141183460469231731687303715884105727', '-170141183460469231731687303715884105728']],
  ['STRING', ['1', '170141183460469231731687303715884105728']],
  ['STRING', ['1', '02134']],
  ['STRING', ['1', '+5']],
  ['STRING', ['1', '-00']],
  ['STRING', ['1', '0x1F']],
  ['STRING', ['1', '0b1']],
  ['STRING', ['1', '1_000']],
  ['STRING', ['1', ' 2']],
  ['STRING', ['1', '2 ']],
  ['STRING', ['1', '"2\t"'], ['1', '2\t']],
  ['STRING', ['1', '""'], ['1', '']],
  ['DOUBLE', ['1', '2.5', '-0.25', '.5', '5.'], ['1', '2.5', '-0.25', '0.5', '5']],
  ['DOUBLE', ['1.10', '1e3', '1E+05', '1e-7'], ['1.1', '1000', '100000', '1e-7']],
  ['DOUBLE', ['-0', '0', '0.5', '0', '-0.0', '-.0', '-0e5'], ['-0', '0', '0.5', '0', '-0', '-0', '-0']],
  ['DOUBLE', ['-0', '0', '1']],
  ['DOUBLE', ['0.1', '9007199254740994']],
  ['STRING', ['0.1', '9007199254740993']],
  ['STRING', ['0.1', '100000000000000000000000']],
  ['DOUBLE', ['0.1', '-170141183460469231731687303715884105728'], ['0.1', '-1.7014118346046923e+38']],
  ['STRING', ['0.1', '-170141183460469231731687303715884105727']],
  ['STRING', ['0.1', '-170141183460469231731687303715884105729']],
  ['STRING', ['0.1', '170141183460469231731687303715884105728']],
  [
    'DOUBLE',
    ['0.1', '1e22', '1.7976931348623157e308', '5e-324'],
    ['0.1', '1e+22', '1.7976931348623157e+308', '5e-324'],
  ],
  ['STRING', ['0.1', '1e309']],
  ['STRING', ['0.1', '1e-400']],
  ['STRING', ['0.1', '01.5']],
  ['STRING', ['0.1', '+1.5']],
  ['STRING', ['0.1', 'NaN']],
  ['STRING', ['0.1', 'inf']],
  ['STRING', ['0.1', 'Infinity']],
  ['STRING', ['0.1', '1_0.5']],
  ['STRING', ['0.1', '1,5'.replace(',', '٫')]],
  ['BOOLEAN', ['true', 'FALSE', 'True', 'fAlse'], ['true', 'false', 'true', 'false']],
  ['STRING', ['true', 'F']],
  ['STRING', ['F', 'F']],
  ['STRING', ['yes', 'no']],
  ['STRING', ['true', '1']],
  ['DATE', ['2024-02-29', '0001-01-01', '9999-12-31']],
  ['STRING', ['2024-01-01', '2024-02-30']],
  ['STRING', ['2024-01-01', '1/2/2024']],
  ['STRING', ['2024-01-01', '2024-1-2']],
  ['STRING', ['2024-01-01', '2024/01/02']],
  ['STRING', ['2024-01-01', '0000-01-01']],
  ['STRING', ['2024-01-01', '10000-01-01']],
  ['STRING', ['2024-01-01', 'epoch']],
  ['STRING', ['2024-01-01', 'infinity']],
  ['STRING', ['2024-01-01', '20240102']],
  ['TIMESTAMP', ['2024-01-02', '2024-01-02 10:11:12', '2024-01-02T10:11', '2024-01-02T10:11:12.5']],
  ['TIMESTAMP', ['2024-01-02T10:11:12Z', '2024-01-02 10:11:12.123456']],
  [
    'TIMESTAMP',
    ['2024-01-02T10:11:12+02:00', '2024-01-02 10:11:12-0830', '2024-01-02 10:11:12+00', '2024-01-02T10:11:12Z'],
  ],
  ['STRING', ['2024-01-02T10:11:12+02:00', '2024-01-02 10:11:12']],
  ['TIMESTAMP_NS', ['2024-01-02T10:11:12.123456789', '2024-01-02', '2024-01-02T10:11:12.1Z']],
  ['TIMESTAMP_NS', ['2024-01-02T10:11:12.1234567+02:00']],
  ['STRING', ['2024-01-02T10:11:12.1234567890']],
  ['STRING', ['9999-01-02T10:11:12.123456789']],
  ['STRING', ['2024-01-02', '2024-01-02 24:00:00']],
  ['STRING', ['2024-01-02', '2024-01-02 23:59:60']],
  ['STRING', ['2024-01-02', '2024-01-02 10:11:12 UTC']],
  ['STRING', ['2024-01-02', '2024-01-02 10:11:12 Europe/Paris']],
  ['STRING', ['2024-01-02', '2024-01-02 10:11:12.']],
  ['STRING', ['2024-01-02', '2024-01-02t10:11:12']],
  ['STRING', ['2024-01-02', '2024-01-02 10:11:12+24:00']],
  ['STRING', ['2024-01-02', '2024-01-02 10:11+02:00']],
  ['STRING', ['10:11:12']],
  ['STRING', ['11111111-2222-3333-4444-555555555555']],
  ['STRING', ['true', '1', '0.5', '2024-01-02']],
  ['STRING', []],
];

/** More rows than are sampled of that many columns. */
const MANY_ROWS = 2500;

/** One file of all columns, with as many rows as the longest column and `filler` of its first rows before the last. */
function fileOf(columns: typeof COLUMNS, fillers: number): string {
  const rows = Math.max(...columns.map(([, texts]) => texts.length));
  const header = columns.map((_, i) => `c${i}`).join(',');
  const first = columns.map(([, [text = '']]) => text).join(',');
  const lines = Array.from({ length: rows }, (_, row) => columns.map(([, texts]) => texts[row] ?? '').join(','));
  return [header, ...Array.from({ length: fillers }, () => first), ...lines, ''].join('\n');
}

const unquoted = (text: string): string => (text.startsWith('"') ? text.slice(1, -1) : text);

describe('the types and values of a CSV file', () => {
  test.each([
    ['come from the values', 0],
    ['come from all rows, not only the first', MANY_ROWS],
  ])('%s', async (_, fillers) => {
    const { types, lines } = await convert(fileOf(COLUMNS, fillers));
    const rows = lines.slice(fillers).map(rawValues);
    const found = COLUMNS.map(([, texts], i) => ({
      type: types[i] ?? '',
      values: texts.map((__, row) => comparable(types[i] ?? '', rows[row]?.[i] ?? '')),
    }));
    expect(found).toEqual(COLUMNS.map(([, texts]) => expectedColumn(texts.map(unquoted))));
    expect(found.map(({ type }, i) => [type, COLUMNS[i]?.[1]])).toEqual(COLUMNS.map(([type, texts]) => [type, texts]));
    const numbers = COLUMNS.flatMap(([type, texts, back = texts], i) => (/TIME|DATE/.test(type) ? [] : [{ i, back }]));
    for (const { i, back } of numbers) {
      const values = back.map((__, row) => comparable('STRING', rows[row]?.[i] ?? ''));
      expect([i, values]).toEqual([i, back]);
    }
  });

  test('of a file in place are those of all rows', { tags: ['slow'] }, async () => {
    const source = { kind: 'csv', path: await saved(fileOf(COLUMNS, MANY_ROWS)) } as const;
    const info = await fixture.describe(source);
    expect(info.schema.fields.map((field) => columnInfo(field).type)).toEqual(COLUMNS.map(([type]) => type));
    expect(info.rows).toBe(MANY_ROWS + 7);
    const window = await textOf(
      fixture.files.read(source, info, { offset: MANY_ROWS + 1, limit: 1, columns: [1, 17] }),
    );
    expect(window).toBe('{"c1":18446744073709551615,"c17":0}\n');
  });
});

test.each([
  ['1, "x" ,2', 'x'],
  ['1, "x,y",2', 'x,y'],
  ['1,"x" ,2', 'x'],
  ['1," x ",2', ' x '],
  ['1, x ,2', ' x '],
  ['1,  "x"  ,2', '  "x"  '],
])('of the spaces of %j only one outside quotes is no part of the value', async (line, value) => {
  const { lines } = await convert(`a,b,c\n${line}\n`, { header: true });
  expect(lines).toEqual([`{"a":1,"b":${JSON.stringify(value)},"c":2}`]);
});

describe('a declared type', () => {
  test.each([
    ['LONG', ['5', '-7'], ['5', '-7']],
    ['BYTE', ['-128', '127'], ['-128', '127']],
    ['FLOAT', ['0.1', '16777216', '-0', 'NaN', '1e-7'], ['0.1', '16777216', '-0', 'null', '1e-7']],
    ['DOUBLE', ['1', '0.5', '-0', 'Infinity', '9007199254740994'], ['1', '0.5', '-0', 'null', '9007199254740994']],
    ['FLOAT', ['22867038000', '1.5', '123456790000'], ['22867038000', '1.5', '123456790000']],
    [
      'DOUBLE',
      ['22867038000', '1234567890123456800', '-123456789012345680000'],
      ['22867038000', '1234567890123456800', '-123456789012345680000'],
    ],
    ['FLOAT', ['-170141183460469231731687303715884105728'], ['-1.7014118e+38']],
    ['DOUBLE', ['-170141183460469231731687303715884105728'], ['-1.7014118346046923e+38']],
    ['DOUBLE', ['nan', 'inf', '-inf', '-Infinity'], ['null', 'null', 'null', 'null']],
    [
      'DECIMAL(10,2)',
      ['1', '-1.5', '.25', '1.50000', '12345678.90'],
      ['"1.00"', '"-1.50"', '"0.25"', '"1.50"', '"12345678.90"'],
    ],
    ['DECIMAL(5,0)', ['7', '7.'], ['"7"', '"7"']],
    ['LONG128', ['-1', '18446744073709551616'], ['-1', '18446744073709551616']],
    ['BOOLEAN', ['TRUE', 'false'], ['true', 'false']],
    ['TIME', ['03:04:05.5', '23:59'], ['"03:04:05.500000"', '"23:59:00.000000"']],
    ['UUID', ['01234567-89AB-cdef-0123-456789abcdef'], ['"01234567-89ab-cdef-0123-456789abcdef"']],
    ['STRING', ['02134', '1'], ['"02134"', '"1"']],
    [
      'TIMESTAMP',
      ['2024-01-02', '2024-01-02 03:04:05.678901000', '2024-01-02T03:04:05+02:00'],
      ['"2024-01-02T00:00:00.000000Z"', '"2024-01-02T03:04:05.678901Z"', '"2024-01-02T01:04:05.000000Z"'],
    ],
    ['TIMESTAMP_NS', ['2024-01-02T03:04:05.678901234Z'], ['"2024-01-02T03:04:05.678901234Z"']],
  ])('%s reads %j', async (type, texts, values) => {
    const { types, lines } = await convert(`v\n${texts.join('\n')}\n`, {
      header: true,
      columns: [{ name: 'v', type }],
    });
    expect(types).toEqual([type]);
    expect(lines.map((line) => rawValues(line)[0])).toEqual(values);
  });

  test.each([
    ['LONG', '2.75'],
    ['LONG', '02134'],
    ['LONG', '+5'],
    ['LONG', '-0'],
    ['BYTE', '128'],
    ['ULONG', '-1'],
    ['FLOAT', '16777217'],
    ['FLOAT', '22867038001'],
    ['DOUBLE', '9007199254740993'],
    ['DOUBLE', '1234567890123456801'],
    ['FLOAT', '-170141183460469231731687303715884105727'],
    ['DOUBLE', '-170141183460469231731687303715884105727'],
    ['DOUBLE', '-170141183460469231731687303715884105729'],
    ['DOUBLE', '1e400'],
    ['DOUBLE', '+inf'],
    ['DECIMAL(10,2)', '1.005'],
    ['DECIMAL(10,2)', '-0.00'],
    ['DECIMAL(4,2)', '100'],
    ['DATE', '2024-01-02 03:04:05'],
    ['DATE', '2024-02-30'],
    ['TIMESTAMP', '2024-01-02 03:04:05.123456789'],
    ['TIMESTAMP', '2024-01-02 03:04:05 Europe/Paris'],
    ['TIME', '24:00:00'],
    ['UUID', '0123456789abcdef0123456789abcdef'],
    ['BOOLEAN', 'T'],
  ])('%s refuses %j with its line and column', async (type, value) => {
    const columns = [
      { name: 'id', type: 'LONG' },
      { name: 'v', type },
    ];
    const body = `1,\r\n"2",\r\n\r\n3,${value}\r\n4,${value}\r\n`;
    await expect(convert(body, { header: false, columns })).rejects.toMatchObject({
      code: 'invalid_data',
      message: `Line 4 of the CSV file, column "v": "${value}" is not of the type ${type}.`,
      hint: 'Correct the value, or declare another type with ?columns=.',
    });
  });

  test('is checked in every row, also after values of many lines', async () => {
    const body = `v,s\n${'1,"a\nb"\n'.repeat(25_000)}x,y\n`;
    const columns = [{ name: 'v', type: 'LONG' }, { name: 's' }];
    await expect(convert(body, { columns, header: true })).rejects.toMatchObject({
      message: 'Line 50002 of the CSV file, column "v": "x" is not of the type LONG.',
    });
  });
});

describe('rows that are appended to a frame', () => {
  const addedTo = new Schema([
    new Field('s', new Utf8(), true),
    new Field('i', new Int32(), true),
    new Field('at', new TimestampMicrosecond(), true),
    new Field('x', new Float64(), true),
    new Field('n', new Int64(), false),
  ]);

  test('are read in the types of the frame', async () => {
    const { types, lines } = await convert('n,s,i,at,x\n1,02134,7,2024-01-02,3\n', { addedTo });
    expect(types).toEqual(['LONG', 'STRING', 'INT', 'TIMESTAMP', 'DOUBLE']);
    expect(lines).toEqual(['{"n":1,"s":"02134","i":7,"at":"2024-01-02T00:00:00.000000Z","x":3}']);
  });

  test.each([
    ['i', '1.5', 'INT'],
    ['i', '2147483648', 'INT'],
    ['at', '2024-01-02 03:04:05.1234567', 'TIMESTAMP'],
    ['x', '9007199254740993', 'DOUBLE'],
    ['n', '007', 'LONG'],
  ])('must fit: %s cannot be %s', async (name, value, type) => {
    await expect(convert(`s,${name}\na,${value}\n`, { addedTo })).rejects.toMatchObject({
      code: 'invalid_data',
      message: `Line 2 of the CSV file, column "${name}": "${value}" is not of the type ${type}.`,
      hint: 'Correct the value: appended rows are read in the types of the frame.',
    });
  });
});
