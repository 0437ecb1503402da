import { createRequire } from 'node:module';
import * as arrow from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { byTier } from '../../../../test/tier.ts';
import { encodeArrowStream } from '../encode/arrow-stream.ts';
import { encodeCsv, encodeJsonTable, encodeNdjson } from '../encode/row-formats.ts';
import type { FrameStream } from '../streams.ts';
import { parseHandle, type ReadOptions, type Store } from '../store.ts';
import { createMemoryStore } from '../memory-store/memory-store.ts';
import { createReadOnlyStore, type ReadOnlyFrame } from '../memory-store/read-only-store.ts';
import { bytesOf, longFrame, readRows, SAMPLE_FRAMES, streamOfSample } from '../testing/index.ts';
import { adoptBatch, adoptSchema, streamFromTable } from './adopt-batch.ts';

/** A second copy of apache-arrow, as every program has that is written in CommonJS. */
const other: typeof arrow = createRequire(import.meta.url)('apache-arrow');

const ref = { tenant: 'default', handle: parseHandle('a') };

async function readFrom(store: Store, read?: ReadOptions): Promise<FrameStream> {
  const frame = await store.open(ref);
  if (frame === undefined) throw new Error('There is no frame.');
  return frame.read(read);
}

const served = (frame: arrow.Table | ReadOnlyFrame, read?: ReadOptions): Promise<FrameStream> =>
  readFrom(createReadOnlyStore({ list: () => ['a'], open: () => frame }), read);

test('the types of the second copy are not those of the first', () => {
  expect(new other.Int32()).not.toBeInstanceOf(arrow.DataType);
});

describe.each([
  ['json', (stream: FrameStream) => encodeJsonTable(stream, { query: 'q' })],
  ['ndjson', encodeNdjson],
  ['csv', encodeCsv],
  ['arrow', encodeArrowStream],
])('%s of a table of another copy of apache-arrow', (_, encode) => {
  const textFrom = async (table: arrow.Table, read?: ReadOptions): Promise<string> =>
    (await bytesOf(encode(await served(table, read)))).toString('latin1');

  for (const [options, samples] of byTier(SAMPLE_FRAMES))
    test.each(samples)('$name: the same bytes as for this copy', options, async (sample) => {
      const bytes = await bytesOf(encodeArrowStream(streamOfSample(sample)));
      const own = arrow.tableFromIPC(bytes);
      const foreign = other.tableFromIPC(bytes);
      expect(await textFrom(foreign)).toBe(await textFrom(own));
      expect(await textFrom(foreign, { offset: 3, limit: 9 })).toBe(await textFrom(own, { offset: 3, limit: 9 }));
      expect(await textFrom(foreign.slice(2, 13))).toBe(await textFrom(own.slice(2, 13)));
    });
});

test('a frame of batches, and a table that is put, can be of another copy', async () => {
  const table = other.tableFromArrays({ id: Int32Array.of(1, 2), name: ['x', 'y'] });
  const rows = [
    [1, 'x'],
    [2, 'y'],
  ];
  const frame = { schema: table.schema, rows: 2, batches: () => table.batches };
  expect(await readRows(await served(frame))).toEqual(rows);
  const store = createMemoryStore();
  await store.put(ref, streamFromTable(table));
  expect(await readRows(await readFrom(store))).toEqual(rows);
});

test('a table of an old version, whose 64-bit values are pairs of 32-bit ones, is read', async () => {
  const type: arrow.DataType = new other.TimestampMillisecond();
  const words = new Int32Array(new BigInt64Array([0n, 1n, 2n]).buffer);
  // The second column is not aligned.
  const moved = new Int32Array(7).subarray(1);
  moved.set(words);
  const [a, b] = [words, moved].map((values) => new other.Data(type, 0, 3, 0, [undefined, values]));
  const table = new other.Table({ a: new other.Vector([a]), b: new other.Vector([b]) });
  // Without the marks by which later versions recognize each other.
  const { schema, batches, numRows } = table;
  const old = { schema, batches, numRows };
  const store = createReadOnlyStore({ list: () => [], open: () => Object.assign(Object.create(null), old) });
  expect((await bytesOf(encodeCsv(await readFrom(store)))).toString().split('\r\n')).toEqual([
    'a,b',
    '1970-01-01T00:00:00.000000Z,1970-01-01T00:00:00.000000Z',
    '1970-01-01T00:00:00.001000Z,1970-01-01T00:00:00.001000Z',
    '1970-01-01T00:00:00.002000Z,1970-01-01T00:00:00.002000Z',
    '',
  ]);
});

test('a schema and a batch of this copy are returned as they are, and others once, with their buffers', async () => {
  const { schema, batches } = longFrame(3);
  expect(adoptSchema(schema)).toBe(schema);
  for await (const batch of batches) expect(adoptBatch(batch)).toBe(batch);
  const words = other.vectorFromArray(['a', 'b', 'a'], new other.Dictionary(new other.Utf8(), new other.Int32()));
  const [batch] = new other.Table({ id: other.makeVector(Int32Array.of(1, 2, 3)), words }).batches;
  const own = adoptBatch(batch);
  expect(adoptBatch(batch)).toBe(own);
  expect(own.data.children[0].values).toBe(batch.data.children[0].values);
  expect(own.data.children[1].dictionary).toBeInstanceOf(arrow.Vector);
});

test('a type that the server does not support is refused with a reason and a hint', async () => {
  const type = new other.DenseUnion([0], [new other.Field('x', new other.Int32(), true)]);
  const schema = new other.Schema([new other.Field('u', type, true)]);
  await expect(served({ schema, rows: 0, batches: () => [] })).rejects.toMatchObject({
    code: 'invalid_data',
    message: expect.stringContaining('Column "u" has the Arrow type'),
    hint: expect.stringContaining('Cast the column to one of'),
  });
});

test('a table without rows keeps its columns, also nested ones', async () => {
  const schema = new arrow.Schema([new arrow.Field('l', new arrow.List(new arrow.Field('item', new arrow.Int32())))]);
  expect((await bytesOf(encodeCsv(await served(new arrow.Table(schema))))).toString()).toBe('l\r\n');
});

describe('a date64 value that is not a whole day is invalid_data', () => {
  const DAY = 86_400_000n;
  const dates = (library: typeof arrow, values: readonly bigint[], nullBitmap?: Uint8Array) =>
    library.makeData({
      type: new library.DateMillisecond(),
      length: values.length,
      nullCount: nullBitmap ? 1 : 0,
      nullBitmap,
      data: BigInt64Array.from(values),
    });
  const tableOf = (library: typeof arrow, data: arrow.Data) => new library.Table({ a: new library.Vector([data]) });
  const listOf = (library: typeof arrow, nullBitmap?: Uint8Array) =>
    library.makeData({
      type: new library.List(new library.Field('item', new library.DateMillisecond())),
      length: 2,
      nullCount: nullBitmap ? 1 : 0,
      nullBitmap,
      valueOffsets: Int32Array.of(0, 1, 2),
      child: dates(library, [0n, -1n]),
    });
  const structOf = (library: typeof arrow) =>
    library.makeData({
      type: new library.Struct([new library.Field('d', new library.DateMillisecond())]),
      length: 2,
      nullCount: 0,
      children: [dates(library, [0n, -1n])],
    });
  const termsOf = (library: typeof arrow) =>
    library.makeData({
      type: new library.Dictionary(new library.DateMillisecond(), new library.Int32()),
      length: 2,
      nullCount: 0,
      data: Int32Array.of(0, 2),
      dictionary: new library.Vector([dates(library, [0n, DAY]), dates(library, [-1n])]),
    });
  const refusal = {
    code: 'invalid_data',
    message: 'Column "a" of a batch: row 1 has the date64 value -1, which is not a whole day.',
    hint: expect.stringContaining('Cast the column to date32'),
  };
  const FIRST_ONLY = Uint8Array.of(1);

  describe.each([
    ['this copy', arrow],
    ['another copy', other],
  ])('in a table of %s', (_, library) => {
    test.each([
      ['a column', dates(library, [0n, -1n])],
      ['a slice', dates(library, [1n, 0n, -1n]).slice(1, 2)],
      ['a list', listOf(library)],
      ['a struct', structOf(library)],
      ['a dictionary', termsOf(library)],
    ])('%s', async (_name, data) => {
      const table = tableOf(library, data);
      await expect(readRows(await served(table))).rejects.toMatchObject(refusal);
      await expect(createMemoryStore().put(ref, streamFromTable(table))).rejects.toMatchObject(refusal);
    });

    test.each([
      ['a null', dates(library, [DAY, -1n], FIRST_ONLY)],
      ['a null list', listOf(library, FIRST_ONLY)],
    ])('but not below %s', async (_name, data) => {
      expect(await readRows(await served(tableOf(library, data)))).toHaveLength(2);
    });
  });

  test('in a table, whatever its size', async () => {
    const large = [DAY * 106_751_991_167n, -DAY * 106_751_991_167n, 2n ** 63n - 1n, 1n - 2n ** 63n];
    const { batches } = await served(tableOf(arrow, dates(arrow, large)));
    for await (const { numRows } of batches) expect(numRows).toBe(4);
    const broken = tableOf(arrow, dates(arrow, [...large, DAY * 106_751_991_167n + 1n]));
    await expect(readRows(await served(broken))).rejects.toMatchObject({ code: 'invalid_data' });
  });
});
