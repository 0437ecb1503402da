import {
  Bool,
  DataType,
  Dictionary,
  Field,
  Int32,
  List,
  makeData,
  RecordBatch,
  RecordBatchReader,
  Schema,
  Struct,
  Table,
  Table as ArrowTable,
  tableFromArrays,
  tableFromIPC,
  tableToIPC,
  TimestampMicrosecond,
  Utf8,
  Utf8View,
  Vector,
  vectorFromArray,
} from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { byTier } from '../../../../test/tier.ts';
import { streamFromTable } from '../decode/adopt-batch.ts';
import { streamOfBatches } from '../streams.ts';
import { bytesOf, chunksOf } from '../testing/bytes-of.ts';
import { views } from '../testing/column-builders.ts';
import { streamOfSample } from '../testing/sample-frame.ts';
import { longFrame, SAMPLE_FRAMES, spoiltFrame } from '../testing/sample-frames.ts';
import { encodeArrowFile, encodeArrowStream } from './arrow-stream.ts';

const encode = (table: Table) => chunksOf(encodeArrowStream(streamFromTable(table)));
const values = (table: Table) => table.toArray().map((row) => JSON.parse(JSON.stringify(row, bigintText)));
const bigintText = (_key: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value);
const sequence = (length: number) => Array.from({ length }, (_, index) => index);

/** Columns of many types, with nulls. */
function manyKinds(rows: number): Table {
  const nullable = <T>(value: (row: number) => T) => sequence(rows).map((row) => (row % 7 === 3 ? null : value(row)));
  return new ArrowTable({
    id: vectorFromArray(sequence(rows).map(BigInt)),
    flag: vectorFromArray(
      nullable((row) => row % 3 === 0),
      new Bool(),
    ),
    text: vectorFromArray(
      nullable((row) => 'ü'.repeat(row % 50)),
      new Utf8(),
    ),
    symbol: vectorFromArray(
      nullable((row) => `s${row % 5}`),
      new Dictionary(new Utf8(), new Int32()),
    ),
    at: vectorFromArray(
      nullable((row) => row * 1000),
      new TimestampMicrosecond(),
    ),
    list: vectorFromArray(
      nullable((row) => sequence(row % 4)),
      new List(new Field('item', new Int32(), true)),
    ),
    pair: vectorFromArray(
      nullable((row) => ({ a: row })),
      new Struct([new Field('a', new Int32(), true)]),
    ),
  });
}

describe('an Arrow stream', () => {
  for (const [options, counts] of byTier([8, 0, 1, 20_000, 1000])) {
    test.each(counts)('of %i rows of many types reads back the same', options, async (rows) => {
      const table = manyKinds(rows);
      const read = tableFromIPC(Buffer.concat(await encode(table)));
      expect(read.numRows).toBe(rows);
      expect(read.schema.fields.map(String)).toEqual(table.schema.fields.map(String));
      expect(values(read)).toEqual(values(table));
    });
  }

  test('of a slice reads back as that slice', async () => {
    const slice = manyKinds(1000).slice(501, 640);
    expect(values(tableFromIPC(Buffer.concat(await encode(slice))))).toEqual(values(slice));
  });

  test('of a part of a view column contains only that part', async () => {
    const texts = sequence(10_000).map((row) => `text ${row} of more than twelve bytes`);
    const [whole] = new ArrowTable({ text: new Vector([views(new Utf8View(), texts)]) }).batches;
    const bytes = Buffer.concat(await encode(new ArrowTable([whole.slice(5000, 5010)])));
    expect(bytes.length).toBeLessThan(2000);
    expect(tableFromIPC(bytes).getChild('text')?.toArray()).toEqual(texts.slice(5000, 5010));
  });

  test('of views that share bytes does not repeat them for each row', async () => {
    const type = new Utf8View();
    const { values: view, variadicBuffers } = views(type, ['x'.repeat(1000)]);
    const same = Uint8Array.from({ length: 16 * 1000 }, (_, i) => view[i % 16]);
    const data = makeData({ type, length: 1000, nullCount: 0, views: same, variadicBuffers });
    const bytes = Buffer.concat(await encode(new ArrowTable({ text: new Vector([data]) })));
    expect(bytes.length).toBeLessThan(20_000);
    expect(new Set(tableFromIPC(bytes).getChild('text'))).toEqual(new Set(['x'.repeat(1000)]));
  });

  test('of a part of a large batch does not contain the whole bitmap', async () => {
    const flags = vectorFromArray(
      sequence(100_000).map((row) => (row % 3 === 0 ? null : row % 2 === 0)),
      new Bool(),
    );
    const slice = new ArrowTable({ flag: flags }).slice(50_003, 50_013);
    const bytes = Buffer.concat(await encode(slice));
    expect(bytes.length).toBeLessThan(1000);
    expect(values(tableFromIPC(bytes))).toEqual(values(slice));
  });

  test('of a table read from a stream without batches has no batches', async () => {
    const empty = Buffer.concat(await encode(manyKinds(0)));
    const again = Buffer.concat(await encode(tableFromIPC(empty)));
    expect(again.equals(empty)).toBe(true);
  });

  test('ends with the end marker', async () => {
    const bytes = Buffer.concat(await encode(manyKinds(3)));
    expect([...bytes.subarray(-8)]).toEqual([255, 255, 255, 255, 0, 0, 0, 0]);
  });

  test('has batches of about 2 MiB in chunks of at most 256 KiB', async () => {
    const table = tableFromArrays({ x: Float64Array.from(sequence(1 << 20)) });
    const chunks = await encode(table);
    expect(Math.max(...chunks.map((chunk) => chunk.length))).toBe(256 * 1024);
    const sizes = [...RecordBatchReader.from(Buffer.concat(chunks))].map((batch) => batch.data.byteLength);
    expect(sizes).toHaveLength(4);
    expect(Math.max(...sizes)).toBeLessThan(2.1 * 1024 * 1024);
  });

  test.each([0.1, 1, 1.9, 2.9, 3.1, 4, 5.5])(
    'of %d MiB has no batch of 4 MiB, the limit of many gRPC clients',
    async (size) => {
      const table = tableFromArrays({ x: new Float64Array((size * 1024 * 1024) / 8) });
      const sizes = [...RecordBatchReader.from(Buffer.concat(await encode(table)))].map(
        (batch) => batch.data.byteLength,
      );
      expect(Math.max(...sizes)).toBeLessThan(3.2 * 1024 * 1024);
      expect(sizes.length).toBeLessThanOrEqual(Math.ceil(size / 2));
    },
  );

  test('does not copy long columns, and combines short ones into few chunks', async () => {
    const x = Float64Array.from(sequence(100_000));
    const long = await encode(tableFromArrays({ x }));
    expect(long.filter(({ buffer }) => buffer === x.buffer).reduce((sum, { length }) => sum + length, 0)).toBe(800_000);
    const wide = tableFromArrays(Object.fromEntries(sequence(200).map((i) => [`c${i}`, x.slice(0, 3000)])));
    const chunks = await encode(wide);
    expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThanOrEqual(256 * 1024);
    expect(chunks.length).toBeLessThan(40);
    expect(tableFromIPC(Buffer.concat(chunks)).numCols).toBe(200);
  });

  test('of a small slice of a large batch is not split into single rows', async () => {
    const large = new ArrowTable({
      text: vectorFromArray(
        sequence(20_000).map(() => 'x'.repeat(1000)),
        new Utf8(),
      ),
    });
    const chunks = await encode(large.slice(0, 2000));
    expect([...RecordBatchReader.from(Buffer.concat(chunks))].length).toBeLessThan(40);
  });

  test('of many small batches has few chunks', async () => {
    const [batch] = tableFromArrays({ x: Int32Array.of(1, 2, 3) }).batches;
    const table = new ArrowTable(sequence(1000).map(() => batch));
    const chunks = await encode(table);
    expect(chunks.length).toBeLessThan(10);
    expect(tableFromIPC(Buffer.concat(chunks)).numRows).toBe(3000);
  });

  test('of batches with different dictionaries keeps every value', async () => {
    const type = new Dictionary(new Utf8(), new Int32(), 1);
    const schema = new Schema([new Field('s', type, false)]);
    const batches = [['a', 'b'], ['c'], ['d', 'a', 'e']].map((words) => {
      const dictionary = vectorFromArray(words, new Utf8());
      const data = makeData({ type, length: words.length, data: Int32Array.from(words.keys()), dictionary });
      return new RecordBatch(
        schema,
        makeData({ type: new Struct(schema.fields), length: words.length, children: [data] }),
      );
    });
    const bytes = await bytesOf(encodeArrowStream(streamOfBatches(schema, batches)));
    const read = [...RecordBatchReader.from(bytes)].flatMap((batch) => [...(batch.getChild('s') ?? [])]);
    expect(read).toEqual(['a', 'b', 'c', 'd', 'a', 'e']);
  });

  const SHARED = [
    [300, 1],
    [3000, 100],
    [20_000, 9000],
  ] as const;
  for (const [options, sizes] of byTier(SHARED)) {
    test.each(sizes)(
      'of %i rows in batches of %i that share a buffer reads back the same',
      options,
      async (rows, batchRows) => {
        // Sources that reuse buffers have no dictionaries.
        const table = manyKinds(rows).select(['id', 'flag', 'text', 'at', 'list', 'pair']);
        const starts = sequence(Math.ceil(rows / batchRows)).map((batch) => batch * batchRows);
        const batches = starts.flatMap((start) => table.slice(start, start + batchRows).batches);
        const kept = [];
        const reusing = spoiltFrame(streamOfBatches(table.schema, batches));
        for await (const chunk of encodeArrowStream(reusing, { reuseBuffers: true })) kept.push(new Uint8Array(chunk));
        expect(values(tableFromIPC(Buffer.concat(kept)))).toEqual(values(table));
      },
    );
  }

  test('combines short columns in one buffer, between the first chunk and the last, if reuseBuffers is set', async () => {
    const columns = sequence(200).map((i) => [`c${i}`, Float64Array.from(sequence(2000), (row) => row * i)]);
    const table = tableFromArrays(Object.fromEntries(columns));
    const copies: Buffer[] = [];
    const memory = new Set<ArrayBufferLike>();
    for await (const chunk of encodeArrowStream(streamFromTable(table), { reuseBuffers: true })) {
      copies.push(Buffer.from(chunk));
      memory.add(chunk.buffer);
    }
    expect(copies.length).toBeGreaterThan(10);
    expect(memory.size).toBe(3);
    expect(Buffer.concat(copies).equals(Buffer.concat(await encode(table)))).toBe(true);
  });

  test('reads no batch before the chunks of the previous one are consumed, and closes the source on return', async () => {
    const { schema, batches } = tableFromArrays({ x: new Float64Array(128 * 1024) });
    let taken = 0;
    let isEnded = false;
    function* observed() {
      try {
        for (; taken < 100; taken++) yield batches[0];
      } finally {
        isEnded = true;
      }
    }
    const chunks = encodeArrowStream(streamOfBatches(schema, observed()));
    await chunks.next();
    expect(taken).toBe(0);
    await chunks.return();
    expect(isEnded).toBe(true);
  });
});

const hasDictionary = ({ fields }: { fields: readonly { type: DataType }[] }): boolean =>
  fields.some(({ type }) => DataType.isDictionary(type));

describe('an Arrow file', () => {
  test.each(SAMPLE_FRAMES.filter((sample) => !hasDictionary(streamOfSample(sample).schema)))(
    'of $name has the batches of the stream',
    async (sample) => {
      const stream = await bytesOf(encodeArrowStream(streamOfSample(sample)));
      const file = await bytesOf(encodeArrowFile(streamOfSample(sample)));
      expect(Buffer.from(file.subarray(0, 8)).toString('latin1')).toBe('ARROW1\0\0');
      expect(Buffer.from(file.subarray(-6)).toString('latin1')).toBe('ARROW1');
      const messages = Buffer.from(file.subarray(8, 8 + stream.length));
      expect(messages.equals(stream)).toBe(true);
      const read = tableFromIPC(file);
      expect(Buffer.from(tableToIPC(read, 'stream')).equals(tableToIPC(tableFromIPC(stream), 'stream'))).toBe(true);
    },
  );

  test('has a footer that finds each batch', async () => {
    const bytes = await bytesOf(encodeArrowFile(longFrame(400_000, { batchRows: 100_000 })));
    const reader = RecordBatchReader.from(bytes);
    if (!reader.isFile()) throw new Error('It is not a file.');
    reader.open();
    expect(reader.numRecordBatches).toBe(4);
    expect(reader.readRecordBatch(2)?.getChildAt(0)?.get(0)).toBe(200_000n);
  });

  test('keeps a dictionary that all batches share', async () => {
    const [batch] = new Table({ s: vectorFromArray(['a', 'b', null, 'a'], new Dictionary(new Utf8(), new Int32())) })
      .batches;
    const symbols = new Table([batch, batch].flatMap((one) => one ?? []));
    const bytes = await bytesOf(encodeArrowFile(streamFromTable(symbols)));
    expect(tableFromIPC(bytes).toArray().map(String)).toEqual(symbols.toArray().map(String));
  });
});
