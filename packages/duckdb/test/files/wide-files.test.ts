import { writeFile } from 'node:fs/promises';
import { streamFromTable } from '@svc/frames';
import { MAX_COLUMNS } from '@svc/frames/columns';
import { type DataType, Decimal, Field, Float32, Float64, Int64, Schema, Table, Utf8 } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COLUMNS_PER_STATEMENT, measureOf } from '../../src/files/copied-rows.ts';
import { createFilesFixture, type FilesFixture, textOf } from '../../src/testing/files-fixture.ts';

let fixture: FilesFixture;
beforeAll(async () => {
  fixture = await createFilesFixture();
});
afterAll(() => fixture.close());

/** More columns than one statement aggregates. */
const WIDTH = 2 * COLUMNS_PER_STATEMENT + 1;

function lineOf(value: (column: number) => string): string {
  return `${Array.from({ length: WIDTH }, (_, i) => value(i)).join(',')}\n`;
}

async function convert(rows: readonly string[]): Promise<{ arrowBytes: number; text: string }> {
  const [from, path] = [fixture.path(), fixture.path()];
  await writeFile(from, lineOf((i) => `c${i}`) + rows.join(''));
  const written = await fixture.files.convert({ kind: 'csv', path: from }, path, { compression: 'zstd', level: 1 });
  const text = await textOf(fixture.files.read({ kind: 'parquet', path }, written, { columns: [WIDTH - 1] }));
  return { arrowBytes: written.arrowBytes, text };
}

test.each([
  ['whole numbers', ['1', '2'], 16],
  ['whole numbers and nulls', ['1', ''], 16 + 2 / 8],
  ['texts', ['a', 'bcd'], 8 + 4],
  ['texts and nulls', ['', 'bcd'], 8 + 3 + 2 / 8],
])('every column of a wide CSV file counts in its bytes: %s', { tags: ['slow'] }, async (_, values, bytes) => {
  const { arrowBytes } = await convert(values.map((value) => lineOf(() => value)));
  expect(arrowBytes).toBe(Math.ceil(WIDTH * bytes));
});

test('the sign of zero is kept in the last column of a wide CSV file', { tags: ['slow'] }, async () => {
  const zeros = ['0.0', '-0.0', '0.0', '-0.0'];
  const { text } = await convert(zeros.map((zero) => lineOf((i) => (i === WIDTH - 1 ? zero : '1.5'))));
  expect(text).toBe([0, '-0', 0, '-0'].map((zero) => `{"c${WIDTH - 1}":${zero}}\n`).join(''));
});

/** Appends a CSV file to a frame with columns of these types in turn. Returns the first values of its rows. */
async function append(
  columns: number,
  types: readonly DataType[],
  rows: readonly (readonly string[])[],
): Promise<string> {
  const fields = Array.from(
    { length: columns },
    (_, i) => new Field(`c${i}`, types[i % types.length] ?? new Utf8(), true),
  );
  const lines = [fields.map(({ name }) => name), ...rows.map((row) => fields.map((_, i) => row[i % row.length]))];
  const [from, path] = [fixture.path(), fixture.path()];
  await writeFile(from, lines.map((line) => `${line.join(',')}\n`).join(''));
  const source = { kind: 'csv', path: from, addedTo: new Schema(fields) } as const;
  const written = await fixture.files.convert(source, path, { compression: 'zstd', level: 1 });
  const first = { columns: types.map((_, i) => i) };
  return textOf(fixture.files.read({ kind: 'parquet', path }, written, first));
}

test('an appended CSV file can have hundreds of columns of floats', async () => {
  expect(await append(200, [new Float64()], [['-0.5'], ['inf']])).toBe('{"c0":-0.5}\n{"c0":null}\n');
});

describe('a CSV file with too many columns to check its values while they are written', () => {
  // More types than one statement tests.
  const types = [
    new Utf8(),
    new Int64(),
    new Float64(),
    new Float32(),
    ...Array.from({ length: 9 }, (_, scale) => new Decimal(scale, 18, 128)),
  ];
  const row = ['007', '7', '-0.5', 'inf', ...Array.from({ length: 9 }, (_, scale) => (7 / 10 ** scale).toFixed(scale))];

  test('is appended in the types of the frame', async () => {
    const text = await append(40 * types.length, types, [row, row.map(() => '')]);
    const decimals = row.slice(4).map((value, i) => `"c${i + 4}":"${value}"`);
    const nulls = row.map((_, i) => `"c${i}":null`);
    expect(text).toBe(`{"c0":"007","c1":7,"c2":-0.5,"c3":null,${decimals.join(',')}}\n{${nulls.join(',')}}\n`);
  });

  test.each([
    [1, '1.5', 'LONG'],
    [2, '9007199254740993', 'DOUBLE'],
    [12, '0.123456789', 'DECIMAL(18,8)'],
  ])('is refused if a value does not fit: column %i', async (column, value, type) => {
    await expect(append(40 * types.length, types, [row, row.with(column, value)])).rejects.toMatchObject({
      code: 'invalid_data',
      message: `Line 3 of the CSV file, column "c${column}": "${value}" is not of the type ${type}.`,
    });
  });

  test('is appended, up to the most columns', { tags: ['slow'] }, async () => {
    expect(await append(5000, [new Float64(), new Int64()], [['0.5', '7']])).toBe('{"c0":0.5,"c1":7}\n');
  });
});

test('a file of an earlier version whose names are too long together can be read', async () => {
  const fields = Array.from({ length: 1100 }, (_, i) => new Field(String(i).padStart(1000, '_'), new Float64(), true));
  const path = fixture.path();
  await fixture.files.write(path, streamFromTable(new Table(new Schema(fields))), { compression: 'zstd', level: 1 });
  const { schema } = await fixture.describe({ kind: 'parquet', path, isOwn: true });
  expect(schema.fields.map(({ name }) => name)).toEqual(fields.map(({ name }) => name));
});

// The time that DuckDB takes for a statement grows with the square of its aggregates.
test('statements that measure rows have a bounded number of aggregates', () => {
  const fields = Array.from({ length: MAX_COLUMNS }, (_, i) => new Field(`c${i}`, new Float64(), true));
  const { statements, bytesPerRow } = measureOf('a.parquet', new Schema(fields));
  expect(bytesPerRow).toBe(8 * MAX_COLUMNS);
  expect(statements.map((sql) => sql.split('count("').length - 1)).toEqual(
    Array.from({ length: MAX_COLUMNS / COLUMNS_PER_STATEMENT }, () => COLUMNS_PER_STATEMENT),
  );
});
