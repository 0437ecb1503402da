import { ServiceError } from '@svc/errors';
import {
  Bool,
  DateDay,
  Dictionary,
  Field,
  Float16,
  Float32,
  Int32,
  Int8,
  List,
  makeData,
  Message,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableFromArrays,
  tableToIPC,
  TimestampNanosecond,
  Uint64,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { arrow017, pyarrow } from '../../../test/arrow-bodies.ts';
import { arrowRefusal, decodeArrowBody, plainRows, streamOf } from '../../../test/decode-body.ts';
import { writeArrow } from '../../../test/write-arrow.ts';

/** Replaces the first occurrence of a 64-bit size. */
function withSize(bytes: Uint8Array, from: number, to: number): Uint8Array {
  const copy = Buffer.from(bytes);
  copy.writeBigInt64LE(BigInt(to), copy.indexOf(Buffer.from(BigInt64Array.of(BigInt(from)).buffer)));
  return copy;
}

const SAMPLE = new Table({
  n: vectorFromArray([1, null, 3], new Int32()),
  s: vectorFromArray(['x', 'yé', null], new Utf8()),
  d: vectorFromArray(['u', 'v', 'u'], new Dictionary(new Utf8(), new Int8())),
  b: vectorFromArray([true, false, null], new Bool()),
  u: vectorFromArray([1n, 2n, 3n], new Uint64()),
  f: vectorFromArray([1.5, null, 2.5], new Float32()),
  h: vectorFromArray([1.5, 0, 2.5], new Float16()),
  t: vectorFromArray([0, 1, 2], new TimestampNanosecond()),
  day: vectorFromArray([0, 1, 2], new DateDay()),
  l: vectorFromArray([[1, 2], [], null], new List(new Field('item', new Int32(), true))),
});

describe('the output of Arrow writers is read', () => {
  test.each(['stream', 'file'] as const)('a %s of apache-arrow, in chunks of any size', (kind) => {
    const bytes = tableToIPC(SAMPLE, kind);
    const expected = plainRows(SAMPLE.batches);
    for (const chunkBytes of [1, 7, 64, Infinity]) {
      const { rows, schema } = decodeArrowBody(bytes, { chunkBytes });
      expect(rows).toEqual(expected);
      expect(String(schema)).toBe(String(SAMPLE.schema));
    }
  });

  test.each(['lz4File', 'zstdStream'] as const)('the compressed bodies of %s', (name) => {
    const { rows } = decodeArrowBody(pyarrow(name), { chunkBytes: 100 });
    expect(rows).toHaveLength(200);
    expect(rows.slice(6, 9)).toEqual([
      { id: 6, text: 'word 1', ratio: 1.5 },
      { id: null, text: 'word 2', ratio: 1.75 },
      { id: 8, text: 'word 3', ratio: 2 },
    ]);
  });

  test.each(['LZ4', 'ZSTD'] as const)('the bodies that Arrow 0.17 compressed with %s', (codec) => {
    const { rows } = decodeArrowBody(arrow017(codec));
    expect(rows).toHaveLength(200);
    expect(rows.slice(0, 4)).toEqual([
      { id: 7, symbol: 'long text number one' },
      { id: null, symbol: 'b' },
      { id: 9, symbol: null },
      { id: 10, symbol: 'long text number one' },
    ]);
  });

  test('other compression in the format of Arrow 0.17 is refused', () => {
    const bytes = arrow017('LZ4');
    for (let at = bytes.indexOf('LZ4'); at >= 0; at = bytes.indexOf('LZ4')) bytes.write('LZO', at);
    expect(arrowRefusal(bytes)).toMatchObject({
      code: 'invalid_data',
      message: 'The Arrow data is compressed with the unknown codec "LZO".',
      hint: 'Compress the data with LZ4 (frame) or ZSTD, or not at all.',
    });
  });

  test('dictionaries that grow and are replaced between batches', () => {
    const { rows, batches } = decodeArrowBody(pyarrow('deltas'));
    expect(rows.map((row) => row.symbol)).toEqual(['a', 'b', 'cc', 'a', null, 'y']);
    expect(batches.map((batch) => batch.getChildAt(0)?.data[0].dictionary?.data.length)).toEqual([1, 1, 1]);
  });

  test('views, large and nested types', () => {
    expect(decodeArrowBody(pyarrow('nested')).rows).toEqual([
      {
        view: 'short',
        large: 'x',
        list: [1, 2],
        wide: ['a'],
        pair: [1, 2],
        struct: { a: 1, b: 'x' },
        none: null,
        when: 0,
      },
      { view: null, large: null, list: null, wide: [], pair: null, struct: null, none: null, when: null },
      {
        view: 'a text that is longer than twelve bytes',
        large: 'yz',
        list: [],
        wide: null,
        pair: [3, 4],
        struct: { a: null, b: 'y' },
        none: null,
        when: 0.001,
      },
    ]);
  });

  test('a stream with only a schema', () => {
    const message = Message.encode(Message.from(SAMPLE.schema));
    const padded = new Uint8Array(Math.ceil(message.length / 8) * 8);
    padded.set(message);
    const head = new Uint8Array(new Uint32Array([0xffffffff, padded.length]).buffer);
    const { schema, batches } = decodeArrowBody(Buffer.concat([head, padded]));
    expect([schema.names, batches]).toEqual([SAMPLE.schema.names, []]);
  });

  test('batches without rows are dropped, also between others', () => {
    const [batch] = SAMPLE.batches;
    const { batches } = decodeArrowBody(streamOf(batch.slice(0, 0), batch, batch.slice(0, 0)));
    expect(batches.map(({ numRows }) => numRows)).toEqual([3]);
  });

  test('batches without columns keep their rows', () => {
    const schema = new Schema([]);
    const batch = new RecordBatch(schema, makeData({ type: new Struct([]), length: 5, nullCount: 0, children: [] }));
    expect(decodeArrowBody(streamOf(batch)).batches[0].numRows).toBe(5);
  });

  test('a stream may end without its end marker', () => {
    const bytes = tableToIPC(SAMPLE, 'stream');
    expect(decodeArrowBody(bytes.subarray(0, bytes.length - 8)).rows).toHaveLength(3);
  });

  test('a compressed frame is counted decompressed', () => {
    const size = 200 * 8 * 2 + 201 * 4 + 200 * 6 + 25;
    expect(arrowRefusal(pyarrow('zstdStream'), { maxBytes: size - 100 }).code).toBe('out_of_memory');
    // The decompressor of newer Node versions holds the content of one buffer twice.
    const largest = 200 * 8;
    expect(decodeArrowBody(pyarrow('zstdStream'), { maxBytes: size + largest + 2000 }).rows).toHaveLength(200);
  });

  test.each(['lz4', 'zstd'] as const)(
    'a frame compressed with %s is out_of_memory, however little memory is missing',
    { tags: ['slow'] },
    (compression) => {
      const { schema, batches } = tableFromArrays({ a: Float64Array.from({ length: 1000 }, Math.sqrt) });
      const bytes = writeArrow(schema, batches, { compression });
      const enough = 40_000;
      expect(decodeArrowBody(bytes, { maxBytes: enough }).rows).toHaveLength(1000);
      const codes = new Set<string>();
      for (let maxBytes = 0; maxBytes < enough; maxBytes += 100) {
        try {
          decodeArrowBody(bytes, { maxBytes });
        } catch (error) {
          codes.add(error instanceof ServiceError ? error.code : String(error));
        }
      }
      expect(codes).toEqual(new Set(['out_of_memory']));
    },
  );

  test('a view that points outside its data', () => {
    const bytes = Buffer.from(pyarrow('nested'));
    const at = bytes.indexOf('a te') - 4;
    bytes.writeInt32LE(1, at + 8);
    expect(arrowRefusal(bytes).message).toBe(
      'Column "view" of record batch 1: the view of row 2 points outside its data.',
    );
  });

  test('a large batch owns exactly the memory of its body', { tags: ['slow'] }, () => {
    const batch = tableFromArrays({ a: new Float64Array(100_000) }).batches[0];
    const { batches } = decodeArrowBody(streamOf(batch, batch));
    const buffers = batches.map(({ data }): ArrayBuffer => data.children[0].values.buffer);
    expect(new Set(buffers).size).toBe(2);
    expect(buffers.map(({ byteLength }) => byteLength)).toEqual([800_000, 800_000]);
  });
});

describe('truncated data and data that is not Arrow are invalid_data', () => {
  test.each(['stream', 'file'] as const)('a %s truncated anywhere inside a message', (kind) => {
    const bytes = tableToIPC(SAMPLE, kind);
    const whole = new Set(messageEnds(bytes));
    for (let length = 1; length < bytes.length; length += 13) {
      if (kind === 'stream' && whole.has(length)) continue;
      expect(arrowRefusal(bytes.subarray(0, length)).code).toBe('invalid_data');
    }
  });

  test.each([
    ['nothing', '', 'The body is empty.'],
    ['JSON', '[{"a":1}]', 'The body is neither an Arrow IPC stream nor an Arrow IPC file.'],
    ['a few bytes', 'ab', 'The body is neither an Arrow IPC stream nor an Arrow IPC file.'],
    ['the magic word alone', 'ARROW1\0\0', 'The Arrow data is truncated: it ends inside a message, at byte 8.'],
  ])('%s', (_name, body, message) => {
    expect(arrowRefusal(Buffer.from(body))).toMatchObject({ code: 'invalid_data', message });
  });

  test('only an end marker has no schema', () => {
    expect(arrowRefusal(Buffer.from('ffffffff00000000', 'hex')).message).toBe('The Arrow data has no schema.');
  });

  test.each(['stream', 'file'] as const)(
    'a body in a %s that is longer than its buffers, for any memory limit',
    (kind) => {
      const { schema, batches } = tableFromArrays({ a: new Int32Array(1001) });
      const bytes = withSize(writeArrow(schema, batches, { kind }), 4008, 2 ** 40);
      expect(arrowRefusal(bytes, { maxBytes: 1e6 })).toMatchObject({
        code: 'invalid_data',
        message: expect.stringMatching(/ claims a body of 1099511627776 bytes, but its buffers end at byte 4008\.$/),
      });
    },
  );

  test.each(['lz4', 'zstd'] as const)(
    'a buffer that %s cannot compress that much, for any memory limit',
    (compression) => {
      const { schema, batches } = tableFromArrays({ a: new Int32Array(1001) });
      const bytes = withSize(writeArrow(schema, batches, { compression }), 4004, 2 ** 40);
      expect(arrowRefusal(bytes, { maxBytes: 1e6 })).toMatchObject({
        code: 'invalid_data',
        message: `A buffer compressed with ${compression} cannot be decompressed.`,
      });
    },
  );

  test('bytes after the end of a stream', () => {
    const bytes = tableToIPC(SAMPLE, 'stream');
    expect(arrowRefusal(Buffer.concat([bytes, bytes])).message).toBe(
      `Bytes follow the end of the Arrow stream, at byte ${bytes.length}.`,
    );
  });
});

/** The ends of the messages of a stream. */
function messageEnds(bytes: Uint8Array): number[] {
  const ends: number[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  for (let at = 0; at + 8 <= bytes.length;) {
    const length = view.getInt32(at + 4, true);
    if (length <= 0) break;
    at += 8 + length + Message.decode(bytes.subarray(at + 8, at + 8 + length)).bodyLength;
    ends.push(at);
  }
  return ends;
}

test('decoded columns have the array types of apache-arrow', () => {
  const { batches } = decodeArrowBody(tableToIPC(SAMPLE, 'stream'));
  const types = batches[0].data.children.map((data) => data.values?.constructor.name);
  expect(types).toEqual(SAMPLE.batches[0].data.children.map((data) => data.values?.constructor.name));
});

/** The body with another content size in the first of its zstd frames, and before it. */
function withContentSize(body: Buffer, bytes: number): Buffer {
  const copy = Buffer.from(body);
  const magic = copy.indexOf(Buffer.from('28b52ffd', 'hex'));
  // A single segment, whose size takes one byte, or two bytes from 256.
  const isShort = copy[magic + 4] >> 6 === 0;
  copy.writeBigInt64LE(copy.readBigInt64LE(magic - 8) + BigInt(bytes), magic - 8);
  if (isShort) copy[magic + 5] += bytes;
  else copy.writeUInt16LE(copy.readUInt16LE(magic + 5) + bytes, magic + 5);
  return copy;
}

test('a zstd frame with less or more content than it declares is invalid_data', () => {
  const body = pyarrow('zstdStream');
  expect(decodeArrowBody(withContentSize(body, 0)).rows).toHaveLength(200);
  for (const bytes of [1, 8, -1, -8]) {
    expect(arrowRefusal(withContentSize(body, bytes)).message).toBe(
      'A buffer compressed with zstd cannot be decompressed.',
    );
  }
});
