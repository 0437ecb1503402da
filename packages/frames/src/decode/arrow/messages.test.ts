import { tableFromArrays } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { POLARS_FILE, pyarrow } from '../../../test/arrow-bodies.ts';
import { arrowRefusal, decodeArrowBody, type DecodeBodyOptions } from '../../../test/decode-body.ts';
import { writeArrow } from '../../../test/write-arrow.ts';

const rowsOf = (bytes: Uint8Array, options?: DecodeBodyOptions) => decodeArrowBody(bytes, options).rows;

/** The offset of the end marker after the last message of a file, and of its first message after the schema. */
function messagesOf(file: Buffer): { readonly start: number; readonly end: number } {
  return { start: 16 + file.readInt32LE(12), end: file.lastIndexOf(Buffer.from('ffffffff00000000', 'hex')) };
}

describe('a file that starts with its schema', () => {
  const file = pyarrow('lz4File');
  const { start, end } = messagesOf(file);

  test('takes less memory than the file and its frame together', () => {
    const { batches } = decodeArrowBody(file);
    const frameBytes = batches.reduce((bytes, { data }) => bytes + data.byteLength, 0);
    expect(rowsOf(file, { chunkBytes: 100, maxBytes: frameBytes + file.length - 1 })).toHaveLength(200);
  });

  test('is invalid_data if its footer lists other batches than it has', () => {
    const doubled = Buffer.concat([file.subarray(0, end), file.subarray(start, end), file.subarray(end)]);
    expect(arrowRefusal(doubled)).toMatchObject({
      code: 'invalid_data',
      message: expect.stringMatching(/^The footer of the Arrow file lists \d record batches, but the file has \d\.$/),
    });
  });

  test('is invalid_data if there are bytes between its messages and its footer', () => {
    const parts = [file.subarray(0, end + 8), Buffer.alloc(8), file.subarray(end + 8)];
    expect(arrowRefusal(Buffer.concat(parts)).message).toBe(
      'The Arrow file is truncated: it does not end with its footer.',
    );
  });

  test('is out_of_memory if its footer is larger than the limit', () => {
    const endless = Buffer.concat([file.subarray(0, end + 8), Buffer.alloc(1 << 20)]);
    expect(arrowRefusal(endless, { chunkBytes: 1000, maxBytes: 100_000 }).code).toBe('out_of_memory');
  });
});

describe('a file with its schema only in the footer', () => {
  const BATCH_BYTES = 800_000;
  const batches = Array.from({ length: 8 }, (_, i) => {
    return tableFromArrays({ a: new Float64Array(BATCH_BYTES / 8).fill(i) }).batches[0];
  });
  const file = writeArrow(batches[0].schema, batches, { kind: 'file' });

  test('is read as polars writes it, in chunks of any size', () => {
    for (const chunkBytes of [1, 7, 64, Infinity]) {
      expect(rowsOf(POLARS_FILE, { chunkBytes })).toEqual([
        { a: 1, s: 'x' },
        { a: 2, s: 'y' },
      ]);
    }
  });

  test('needs the memory of the file and one batch, not of two files', { tags: ['slow'] }, () => {
    const options = { chunkBytes: 1 << 16, maxBytes: file.length + BATCH_BYTES + (1 << 16) + 4096 };
    const decoded = decodeArrowBody(file, options).batches;
    expect(decoded.map((batch) => [batch.numRows, batch.get(0)?.toJSON().a])).toEqual(
      batches.map(({ numRows }, i) => [numRows, i]),
    );
  });

  test('is out_of_memory if the file alone exceeds the limit', () => {
    expect(arrowRefusal(file, { chunkBytes: 1 << 16, maxBytes: file.length - 1 }).code).toBe('out_of_memory');
    expect(arrowRefusal(POLARS_FILE, { maxBytes: POLARS_FILE.length - 1 }).code).toBe('out_of_memory');
  });

  test('is invalid_data if it is truncated anywhere', () => {
    for (let length = 1; length < POLARS_FILE.length; length += 13) {
      expect(arrowRefusal(POLARS_FILE.subarray(0, length)).code).toBe('invalid_data');
    }
  });

  test('is invalid_data if its footer points elsewhere', () => {
    const moved = Buffer.from(POLARS_FILE);
    moved[POLARS_FILE.lastIndexOf(Buffer.from([0x20, 1, 0, 0, 0, 0, 0, 0]))] ^= 8;
    expect(arrowRefusal(moved).message).toBe('The Arrow message at byte 296 is not where the footer says.');
  });

  test('is invalid_data if its footer overstates the length of a body', () => {
    const [last] = batches;
    const short = Buffer.from(writeArrow(last.schema, [last], { kind: 'file' }));
    const length = Buffer.alloc(8);
    length.writeBigInt64LE(BigInt(BATCH_BYTES));
    const place = short.lastIndexOf(length);
    short.writeBigInt64LE(BigInt(BATCH_BYTES - 8), place);
    expect(arrowRefusal(short).message).toBe('The Arrow message at byte 8 does not match the footer.');
  });
});
