import { streamFromTable } from '@svc/frames';
import {
  Field,
  Float64,
  Int32,
  List,
  makeData,
  Struct,
  Table,
  Timestamp,
  TimeUnit,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFilesFixture, type FilesFixture, textOf } from '../../src/testing/files-fixture.ts';

let fixture: FilesFixture;
beforeAll(async () => {
  fixture = await createFilesFixture();
});
afterAll(() => fixture.close());

/** Values that DuckDB cannot format as text. */
const LIMITS = BigInt64Array.of(-(2n ** 63n) + 2n, 2n ** 63n - 2n, -9_223_372_036_854_000_000n);

function listOf(unit: TimeUnit): Vector {
  const type = new Timestamp(unit);
  const child = makeData({ type, data: LIMITS });
  const list = new List(new Field('item', type, true));
  return new Vector([makeData({ type: list, valueOffsets: Int32Array.of(0, LIMITS.length), child })]);
}

describe('a Parquet file is accepted with any times in its lists', () => {
  test.each([TimeUnit.MICROSECOND, TimeUnit.NANOSECOND])('unit %s', async (unit) => {
    const frame = (): ReturnType<typeof streamFromTable> => streamFromTable(new Table({ v: listOf(unit) }));
    const [from, path] = [fixture.path(), fixture.path()];
    await fixture.files.write(from, frame(), { compression: 'none' });
    await fixture.files.convert({ kind: 'parquet', path: from }, path, { compression: 'none' });
    const source = { kind: 'parquet', path } as const;
    expect(await textOf(fixture.files.read(source, await fixture.describe(source)))).toBe(await textOf(frame()));
  });
});

const ROWS = Array.from({ length: 1000 }, (_, i) => i);
const TEXTS = new List(new Field('item', new Utf8(), true));
const NUMBERS = new List(new Field('item', new Float64(), true));
const PLACES = new Struct([new Field('id', new Int32(), true), new Field('texts', TEXTS, true)]);
const NESTED: Readonly<Record<string, () => Vector>> = {
  'lists of texts': () =>
    vectorFromArray(
      ROWS.map((i) => [`text ${i}`, 'x'.repeat(i % 50)]),
      TEXTS,
    ),
  'lists of numbers': () =>
    vectorFromArray(
      ROWS.map((i) => Array.from({ length: i % 5 }, (_, n) => n * 1e6)),
      NUMBERS,
    ),
  structs: () =>
    vectorFromArray(
      ROWS.map((i) => ({ id: i, texts: [`${i}`, `${i}`] })),
      PLACES,
    ),
};

test.each(Object.entries(NESTED))(
  'nested rows of a Parquet file have the bytes that Arrow has for them: %s',
  async (_name, column) => {
    const [from, path] = [fixture.path(), fixture.path()];
    const sent = await fixture.files.write(from, streamFromTable(new Table({ v: column() })), { compression: 'none' });
    const copied = await fixture.files.convert({ kind: 'parquet', path: from }, path, { compression: 'none' });
    expect(copied.arrowBytes / sent.arrowBytes).toBeCloseTo(1, 1);
  },
);
