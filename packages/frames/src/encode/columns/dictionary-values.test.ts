import {
  Dictionary,
  Field,
  Int32,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow';
import { expect, test } from 'vitest';
import { type FrameStream, streamOfBatches } from '../../frame-stream.ts';
import { bytesOf } from '../../testing/bytes-of.ts';
import { encodeJsonTable } from '../json-table.ts';

/** A frame with one SYMBOL column: a batch for each list of indices into one dictionary. */
function symbols(dictionary: Vector<Utf8>, ...batches: Int32Array[]): FrameStream {
  const type = new Dictionary(new Utf8(), new Int32(), 1);
  const schema = new Schema([new Field('s', type, false)]);
  const rows = new Struct(schema.fields);
  return streamOfBatches(
    schema,
    batches.map((data) => {
      const children = [makeData({ type, length: data.length, nullCount: 0, data, dictionary })];
      return new RecordBatch(schema, makeData({ type: rows, length: data.length, nullCount: 0, children }));
    }),
  );
}

async function cells(frame: FrameStream): Promise<unknown[]> {
  return JSON.parse((await bytesOf(encodeJsonTable(frame, { query: 'q' }))).toString()).dataset.flat();
}

/** The minimum CPU time of three runs, which other load on the machine affects little. */
async function leastMs(act: () => Promise<unknown>): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < 3; i++) {
    const start = process.cpuUsage();
    await act();
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

const texts = (length: number) => Array.from({ length }, (_, i) => `value ${i}`);
const count = (length: number, start = 0) => Int32Array.from({ length }, (_, i) => start + i);

test('a dictionary of several parts is read across them', async () => {
  const dictionary = new Vector(
    [['a', 'b'], ['"'], [], ['d']].map((part) => vectorFromArray(part, new Utf8()).data[0]),
  );
  expect(await cells(symbols(dictionary, Int32Array.of(3, 2, 1, 0, 3)))).toEqual(['d', '"', 'b', 'a', 'd']);
});

test('an index outside the dictionary is an error', async () => {
  const dictionary = vectorFromArray(['a'], new Utf8());
  await expect(cells(symbols(dictionary, Int32Array.of(0, 1)))).rejects.toThrow(RangeError);
});

test('ten times as many distinct values take about ten times as long', { tags: ['slow'] }, async () => {
  const [few, many] = [10_000, 100_000].map((length) => vectorFromArray(texts(length), new Utf8()));
  const fewMs = await leastMs(() => cells(symbols(few, count(10_000))));
  const manyMs = await leastMs(() => cells(symbols(many, count(100_000))));
  expect(manyMs).toBeLessThan(40 * fewMs + 200);
});

test('batches that share a dictionary do not each write all of it', { tags: ['slow'] }, async () => {
  const dictionary = vectorFromArray(texts(100_000), new Utf8());
  const oneMs = await leastMs(() => cells(symbols(dictionary, count(5000))));
  const batches = Array.from({ length: 5000 }, (_, i) => count(1, i));
  expect(await leastMs(() => cells(symbols(dictionary, ...batches)))).toBeLessThan(20 * oneMs + 200);
});

test('batches with different dictionaries have different values', async () => {
  const [first, second] = [['a', 'b'], ['c']].map((words) => vectorFromArray(words, new Utf8()));
  const { schema, batches } = symbols(first, Int32Array.of(1, 0));
  async function* all() {
    yield* batches;
    yield* symbols(second, Int32Array.of(0)).batches;
    yield* symbols(first, Int32Array.of(0)).batches;
  }
  expect(await cells(streamOfBatches(schema, all()))).toEqual(['b', 'a', 'c', 'a']);
});
