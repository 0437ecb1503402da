import { createRequire } from 'node:module';
import * as arrow from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { byTier } from '../../../../test/tier.ts';
import { encodeArrowStream } from '../encode/arrow-stream.ts';
import { encodeCsv } from '../encode/csv.ts';
import { encodeJsonTable } from '../encode/json-table.ts';
import { encodeNdjson } from '../encode/ndjson.ts';
import type { FrameStream } from '../frame-stream.ts';
import { parseHandle } from '../handle.ts';
import { createMemoryStore } from '../memory-store/memory-store.ts';
import { createReadOnlyStore, type ReadOnlyFrame } from '../memory-store/read-only-store.ts';
import type { ReadOptions, Store } from '../store.ts';
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
