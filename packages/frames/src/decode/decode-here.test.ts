import { Binary, Bool, Decimal, Field, Float64, Int64, Schema, TimestampMicrosecond, Utf8 } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { encodeArrowStream } from '../encode/arrow-stream.ts';
import { encodeArrowMessages } from '../encode/arrow-messages.ts';
import { joinArrowMessages } from '../encode/join-messages.ts';
import { streamOfBatches } from '../frame-stream.ts';
import { decodingContract } from '../testing/decoding-contract.ts';
import { longFrame, readRows } from '../testing/sample-frames.ts';
import { decodeArrowHere, decodeRowHere } from './decode-here.ts';

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
