import {
  Data,
  type DataType,
  Dictionary,
  Field,
  FixedSizeList,
  Int32,
  List,
  makeData,
  makeVector,
  type RecordBatch,
  Table,
  Utf8,
  Utf8View,
  vectorFromArray,
} from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { createBatchEncoder } from './batch-codec.ts';
import { createSharedValueLimit } from './shared-values.ts';

const LONG = 'y'.repeat(100_000);
const type = new Dictionary(new Utf8(), new Int32());
const valuesOf = (values: readonly string[]) => vectorFromArray(values, new Utf8());

/** Rows that refer to the values of a dictionary. */
function indexed(values: readonly string[], indices: Int32Array, nulls?: Uint8Array): Data {
  const nullBitmap = nulls && { nullBitmap: nulls, nullCount: indices.length };
  return makeData({ type, length: indices.length, data: indices, dictionary: valuesOf(values), ...nullBitmap });
}

/** Rows that all refer to one place of a buffer. */
function views(rows: number, bytes: number): Data {
  const words = new Int32Array(4 * rows);
  for (let row = 0; row < rows; row++) words[4 * row] = bytes;
  const data = new Data(new Utf8View(), 0, rows, 0, { 1: new Uint8Array(words.buffer) });
  return Object.assign(data, { variadicBuffers: [new Uint8Array(bytes).fill(0x79)] });
}

function listed(items: Data): Data {
  const list = new List(new Field('item', type, true));
  return new Data<DataType>(list, 0, 1, 0, { 0: Int32Array.of(0, items.length) }, [items]);
}

function paired(items: Data): Data {
  return new Data(new FixedSizeList(2, new Field('item', type, true)), 0, items.length / 2, 0, {}, [items]);
}

function batchOf<T extends DataType>(data: Data<T>): RecordBatch {
  const [batch] = new Table({ a: makeVector(data) }).batches;
  if (batch === undefined) throw new Error('The table has no batch.');
  return batch;
}

const mixed = Int32Array.from({ length: 1000 }, (_, row) => (row < 10 ? 1 : 0));

describe('the bytes of shared values, each counted as often as it is used', () => {
  test.each<[title: string, data: Data, bytes: number]>([
    ['one long value', indexed([LONG], new Int32Array(1000)), 100_000_000],
    ['few rows with a long value', indexed(['', LONG], mixed), 1_000_000],
    ['rows that are null', indexed([LONG], new Int32Array(1000), new Uint8Array(125)), 0],
    ['values of at most 128 bytes', indexed(['y'.repeat(128)], new Int32Array(1000)), 0],
    ['values of 129 bytes', indexed(['y'.repeat(129)], new Int32Array(1000)), 129_000],
    ['items of a list', listed(indexed([LONG], new Int32Array(1000))), 100_000_000],
    ['items of fixed lists', paired(indexed([LONG], new Int32Array(1000))), 100_000_000],
    ['views of one place, without its own bytes', views(1000, 100_000), 99_900_000],
    ['views of different places', views(1, 100_000), 0],
    ['plain texts', valuesOf([LONG]).data[0] ?? indexed([], new Int32Array(0)), 0],
  ])('%s', async (_, data, bytes) => {
    const batch = batchOf(data);
    await createSharedValueLimit(bytes).admit(batch);
    const limit = createSharedValueLimit(bytes - 1);
    if (bytes > 0) await expect(limit.admit(batch)).rejects.toMatchObject({ code: 'payload_too_large' });
  });

  test('are those of all batches', async () => {
    const batch = batchOf(indexed([LONG], new Int32Array(1000)));
    const limit = createSharedValueLimit(250_000_000);
    await limit.admit(batch);
    await limit.admit(batch);
    await expect(limit.admit(batch)).rejects.toMatchObject({
      code: 'payload_too_large',
      hint: expect.stringContaining('storage.max_conversion_bytes'),
    });
  });
});

describe('the payloads of a batch', () => {
  const piecesOf = (data: Data) => [...createBatchEncoder().encode(batchOf(data))];

  test.each<[title: string, data: Data, rows: number]>([
    ['one long value', indexed([LONG], new Int32Array(1000)), 1000],
    [
      'long values at the start only',
      indexed(
        ['', LONG],
        Int32Array.from({ length: 60_000 }, (_, i) => Number(i < 900)),
      ),
      60_000,
    ],
    ['views of one place', views(1000, 100_000), 1000],
  ])('have at most 4 MiB when they are written: %s', (_, data, rows) => {
    const pieces = piecesOf(data);
    expect(pieces.reduce((sum, piece) => sum + piece.rows, 0)).toBe(rows);
    expect(Math.max(...pieces.map(({ writtenBytes }) => writtenBytes))).toBeLessThanOrEqual(4 * 1024 * 1024);
    expect(pieces.length).toBeLessThan(100);
    expect(pieces[0]?.isLong).toBe(true);
  });

  test('have as many rows as before if the values of a dictionary are short', () => {
    const pieces = piecesOf(indexed(['y'.repeat(20)], new Int32Array(200_000)));
    expect(pieces.map(({ rows, isLong }) => [rows, isLong])).toEqual([
      [65_536, false],
      [65_536, false],
      [65_536, false],
      [3392, false],
    ]);
  });

  test('are refused if one row takes more than 256 MiB', () => {
    const items = indexed([LONG], new Int32Array(3000));
    expect(() => piecesOf(listed(items))).toThrow('A row takes more than 268435456 bytes');
  });
});
