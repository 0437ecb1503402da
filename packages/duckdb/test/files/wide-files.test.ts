import { writeFile } from 'node:fs/promises';
import { streamFromTable } from '@svc/frames';
import { MAX_COLUMNS } from '@svc/frames/columns';
import { type DataType, Field, Float64, Schema, Table, Utf8 } from 'apache-arrow';
import { afterAll, beforeAll, expect, test } from 'vitest';
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
