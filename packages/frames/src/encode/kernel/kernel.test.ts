import { Dictionary, Field, Int32, List, makeData, Schema, Utf8, vectorFromArray } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { createRecordBatch } from '../../columns/record-batch.ts';
import { type FrameStream, streamOfBatches } from '../../streams.ts';
import { bytesOf } from '../../testing/bytes-of.ts';
import { streamOfSample } from '../../testing/sample-frame.ts';
import { SAMPLE_FRAMES } from '../../testing/sample-frames.ts';
import { encodeCsv, encodeJsonTable, encodeNdjson } from '../row-formats.ts';
import { useKernel } from './kernel.ts';

async function textOf(encoded: AsyncIterable<Uint8Array>): Promise<string> {
  return (await bytesOf(encoded)).toString();
}

/** A frame with one column. */
function frameOf(data: ReturnType<typeof makeData>): FrameStream {
  const schema = new Schema([new Field('c', data.type, true)]);
  return streamOfBatches(schema, [createRecordBatch(schema, data.length, [data])]);
}

function textFrame(rows: number, letter: string): FrameStream {
  const words = Array.from({ length: rows }, (_, i) => `${letter}${i}`);
  return frameOf(vectorFromArray(words, new Utf8()).data[0]);
}

const MiB = 1024 * 1024;

describe('the kernel', () => {
  test('writes interleaved results like sequential ones', { tags: ['slow'] }, async () => {
    const encoders = [
      () => encodeNdjson(textFrame(60_000, 'a')),
      () => encodeCsv(textFrame(60_000, 'b')),
      () => encodeJsonTable(textFrame(60_000, 'c'), { query: 'q' }),
      ...SAMPLE_FRAMES.map((sample) => () => encodeNdjson(streamOfSample(sample))),
    ];
    const together = await Promise.all(encoders.map((encode) => textOf(encode())));
    for (const [i, encode] of encoders.entries()) expect(together[i] === (await textOf(encode()))).toBe(true);
  });

  test('is replaced after a long row', { tags: ['slow'] }, async () => {
    const text = 'x'.repeat(20 * MiB);
    expect(await textOf(encodeCsv(frameOf(vectorFromArray([text, 'y'], new Utf8()).data[0])))).toBe(
      `c\r\n${text}\r\ny\r\n`,
    );
    expect(useKernel().bytes.length).toBeLessThan(2 * MiB);
  });

  test.each<[name: string, data: ReturnType<typeof makeData>]>([
    ['text beyond its bytes', texts([0, 9])],
    ['text that ends before it starts', texts([2, 1])],
    ['text before the first', texts([1, 0, 2])],
    ['index below zero', symbols([-1])],
    ['index beyond the dictionary', symbols([0, 3])],
    ['list beyond its items', lists([0, 1, 9, 2])],
    ['list that ends before it starts', lists([0, 2, 1, 2])],
  ])('refuses a %s, and does not leak what others left in its memory', async (_name, data) => {
    await textOf(encodeCsv(textFrame(10_000, 'secret')));
    await expect(textOf(encodeCsv(frameOf(data)))).rejects.toThrow(RangeError);
  });

  test('reads zeros if a buffer is too short', async () => {
    await textOf(encodeCsv(textFrame(10_000, 'secret')));
    const data = makeData({ type: new Int32(), length: 3, nullCount: 0, data: new Int32Array([7]) });
    expect(await textOf(encodeCsv(frameOf(data)))).toBe('c\r\n7\r\n0\r\n0\r\n');
  });
});

function texts(offsets: number[]): ReturnType<typeof makeData> {
  const [length, valueOffsets] = [offsets.length - 1, Int32Array.from(offsets)];
  return makeData({ type: new Utf8(), length, nullCount: 0, valueOffsets, data: Buffer.from('abc') });
}

function symbols(indices: number[]): ReturnType<typeof makeData> {
  const dictionary = vectorFromArray(['a', 'b', 'c'], new Utf8());
  const type = new Dictionary(new Utf8(), new Int32(), 1);
  return makeData({ type, length: indices.length, nullCount: 0, data: Int32Array.from(indices), dictionary });
}

function lists(offsets: number[]): ReturnType<typeof makeData> {
  const child = makeData({ type: new Int32(), length: 2, nullCount: 0, data: new Int32Array(2) });
  const type = new List(new Field('item', new Int32(), true));
  const [length, valueOffsets] = [offsets.length - 1, Int32Array.from(offsets)];
  return makeData({ type, length, nullCount: 0, valueOffsets, child });
}
