import {
  Binary,
  Bool,
  Decimal,
  Field,
  Float64,
  Int32,
  Int64,
  Schema,
  Table,
  tableFromArrays,
  tableToIPC,
  TimestampMicrosecond,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { createRecordBatch } from '../columns/record-batch.ts';
import { encodeArrowMessages } from '../encode/arrow-messages.ts';
import { encodeArrowStream, joinArrowMessages } from '../encode/arrow-stream.ts';
import { streamOfBatches } from '../streams.ts';
import { decodingContract } from '../testing/decoding-contract.ts';
import { longFrame, readRows } from '../testing/sample-frames.ts';
import { createResultDecoder, decodeArrowHere, decodeRowHere, type ResultDecoder } from './decode-here.ts';

decodingContract('arrow', (body) => decodeArrowHere(body, { maxBytes: Infinity }));

describe('decodeArrowHere', () => {
  test('columns with the same name get numbers', async () => {
    const names = ['a', 'a', 'a_1', 'A', 'a'];
    const schema = new Schema(names.map((name) => new Field(name, new Int64(), true)));
    const stream = await decodeArrowHere(encodeArrowStream(streamOfBatches(schema, [])), { maxBytes: Infinity });
    expect(stream.schema.names).toEqual(['a', 'a_1', 'a_1_1', 'A', 'a_2']);
  });

  test('the limit counts only what was not taken yet', async () => {
    const rows = 1_000_000;
    const body = encodeArrowStream(longFrame(rows, { batchRows: 50_000 }));
    let taken = 0;
    for await (const { numRows } of (await decodeArrowHere(body, { maxBytes: 4_000_000 })).batches) taken += numRows;
    expect(taken).toBe(rows);
    const small = await decodeArrowHere(encodeArrowStream(longFrame(rows)), { maxBytes: 300_000 });
    await expect(readRows(small)).rejects.toMatchObject({ code: 'out_of_memory' });
  });

  test('bytes are read only for the batch that is taken', async () => {
    let read = 0;
    async function* counted() {
      for await (const chunk of encodeArrowStream(longFrame(1_000_000, { batchRows: 100_000 }))) {
        read += chunk.length;
        yield chunk;
      }
    }
    const { batches } = await decodeArrowHere(counted(), { maxBytes: Infinity });
    const iterator = batches[Symbol.asyncIterator]();
    await iterator.next();
    expect(read).toBeLessThan(2_000_000);
    await iterator.return?.();
    expect(read).toBeLessThan(2_000_000);
  });
});

test('joined messages are a stream, and a body of another length than its header says is invalid_data', async () => {
  async function* messages(cut: number) {
    for await (const { header, body } of encodeArrowMessages(longFrame(3))) {
      const whole = Buffer.concat(body);
      yield { dataHeader: header, dataBody: whole.subarray(0, Math.max(0, whole.length - cut)) };
    }
  }
  const read = (cut: number) => decodeArrowHere(joinArrowMessages(messages(cut)), { maxBytes: Infinity });
  expect(await readRows(await read(0))).toEqual([[0n], [1n], [2n]]);
  await expect(readRows(await read(8))).rejects.toMatchObject({ code: 'invalid_data' });
});

describe('decodeRowHere', () => {
  const VALUES = [
    ['true', new Bool(), true, true],
    ['a whole number', new Int64(), '-9223372036854775808', -9223372036854775808n],
    ['a text', new Utf8(), 'é"\n', 'é"\n'],
    ['base64', new Binary(), 'AP8=', new Uint8Array([0, 255])],
    ['a time', new TimestampMicrosecond(), '2024-01-02 03:04:05.678901', 1704164645678.901],
    ['null', new Float64(), null, null],
  ] as const;

  test.each(VALUES)('reads %s', async (_name, type, value, expected) => {
    const stream = await decodeRowHere(new Schema([new Field('1', type, true)]), [value]);
    expect(await readRows(stream)).toEqual([[expected]]);
  });

  test('keeps the order of columns, and refuses what does not fit', async () => {
    const names = ['2', '10', '1'];
    const schema = new Schema(names.map((name) => new Field(name, new Decimal(2, 10, 128), true)));
    expect((await decodeRowHere(schema, ['1.5', null, '2'])).schema.names).toEqual(names);
    const wrong = await decodeRowHere(schema, ['1.505', null, '2']);
    await expect(readRows(wrong)).rejects.toMatchObject({ code: 'invalid_data' });
  });
});

function failureOf(decoder: ResultDecoder, bytes: Uint8Array): unknown {
  try {
    decoder.decode([bytes]);
  } catch (error) {
    return error;
  }
  return undefined;
}

const MAX_BYTES = 1 << 20;
const piece = (values: readonly number[]): Uint8Array =>
  tableToIPC(tableFromArrays({ a: Int32Array.from(values) }), 'stream');

test('pieces of one schema become batches of the first schema', () => {
  const decoder = createResultDecoder(MAX_BYTES);
  expect(decoder.schema).toBeUndefined();
  const empty = tableToIPC(new Table(tableFromArrays({ a: Int32Array.of(1) }).schema, []), 'stream');
  const batches = [piece([1, 2]), empty, piece([3])].flatMap((bytes) => decoder.decode([bytes]));
  expect(batches.flatMap((batch) => [...(batch.getChild('a') ?? [])])).toEqual([1, 2, 3]);
  expect(batches.every((batch) => batch.schema === decoder.schema)).toBe(true);
});

test('columns of one name get numbers, and keep their values', () => {
  const fields = ['a', 'a', 'a_1'].map((name) => new Field(name, new Int32(), true));
  const columns = [[1], [2], [3]].flatMap((values) => vectorFromArray(values, new Int32()).data);
  const bytes = tableToIPC(new Table([createRecordBatch(new Schema(fields), 1, columns)]), 'stream');
  const decoder = createResultDecoder(MAX_BYTES);
  const [batch] = decoder.decode([bytes]);
  expect(decoder.schema?.fields.map(({ name }) => name)).toEqual(['a', 'a_1', 'a_1_1']);
  expect(batch?.get(0)?.toJSON()).toEqual({ a: 1, a_1: 2, a_1_1: 3 });
});

test('a piece may come in chunks of any size', () => {
  const whole = piece([1, 2, 3]);
  for (const size of [1, 7, 64, whole.length]) {
    const chunks = Array.from({ length: Math.ceil(whole.length / size) }, (_, i) =>
      whole.subarray(i * size, (i + 1) * size),
    );
    const [batch] = createResultDecoder(MAX_BYTES).decode(chunks);
    expect([...(batch?.getChild('a') ?? [])]).toEqual([1, 2, 3]);
  }
});

test('each piece brings its dictionaries', () => {
  const bytes = tableToIPC(new Table({ s: vectorFromArray(['x', 'y', 'x']) }), 'stream');
  const decoder = createResultDecoder(MAX_BYTES);
  const batches = [bytes, bytes].flatMap((one) => decoder.decode([one]));
  expect(batches.flatMap((batch) => [...(batch.getChild('s') ?? [])])).toEqual(['x', 'y', 'x', 'x', 'y', 'x']);
});

test('a piece with another schema is an error', () => {
  const decoder = createResultDecoder(MAX_BYTES);
  decoder.decode([piece([1])]);
  const other = tableToIPC(new Table({ a: vectorFromArray(['x'], new Utf8()) }), 'stream');
  expect(failureOf(decoder, other)).toMatchObject({ code: 'invalid_data' });
});

test('a changed byte gives an error or values, never a crash', () => {
  const bytes = piece([1, 2, 3]);
  for (let at = 0; at < bytes.length; at++) {
    const damaged = bytes.slice();
    damaged[at] = (damaged[at] ?? 0) ^ 0xff;
    const failure = failureOf(createResultDecoder(MAX_BYTES), damaged) ?? { code: 'none' };
    expect(['invalid_data', 'out_of_memory', 'none'], `byte ${at}`).toContain(Object(failure).code);
  }
});

test('a piece that needs more than its memory is an error', () => {
  const bytes = piece(Array.from({ length: 1000 }, () => 1));
  expect(failureOf(createResultDecoder(1000), bytes)).toMatchObject({ code: 'out_of_memory' });
});
