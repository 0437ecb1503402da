import { Dictionary, Field, Float64, Int32, makeData, type RecordBatch, Schema, Utf8 } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { decodeBody } from '../../../test/decode-body.ts';
import { writeArrow } from '../../../test/write-arrow.ts';
import { createRecordBatch } from '../../columns/record-batch.ts';
import { encodeArrowStream } from '../../encode/arrow-stream.ts';
import { sliceData } from '../../columns/slice-batches.ts';
import { bytes, dictionaryOf } from '../../testing/column-builders.ts';
import { ENCODING_CHECKS } from '../../testing/encoding-checks.ts';
import { bytesOf, longFrame, SAMPLE_FRAMES, streamOfSample } from '../../testing/index.ts';
import type { SampleFrame } from '../../testing/sample-frame.ts';
import { decodeArrow } from './arrow-decoder.ts';

async function batchesOf(rows: number, batchRows: number): Promise<RecordBatch[]> {
  const batches: RecordBatch[] = [];
  for await (const batch of longFrame(rows, { batchRows }).batches) batches.push(batch);
  return batches;
}

async function decodedRows(rows: number, batchRows: number): Promise<number[]> {
  const { schema } = longFrame(0);
  const decoded = decodeBody(decodeArrow, writeArrow(schema, await batchesOf(rows, batchRows)));
  const values = decoded.batches.flatMap((batch) => [...(batch.getChildAt(0) ?? [])]);
  expect(values.every((value, row) => value === BigInt(row))).toBe(true);
  return decoded.batches.map((batch) => batch.numRows);
}

/** Splits a batch into batches of one row. */
function singleRows({ schema, batches }: SampleFrame): RecordBatch[] {
  return batches.flatMap((batch) =>
    Array.from({ length: batch.numRows }, (_, row) =>
      createRecordBatch(
        schema,
        1,
        batch.data.children.map((data) => sliceData(data, row, 1)),
      ),
    ),
  );
}

describe('small batches are merged', () => {
  test('up to 65 536 rows', async () => {
    expect(await decodedRows(150_000, 15_000)).toEqual([75_000, 75_000]);
  });

  test('up to 1 MiB', async () => {
    const schema = new Schema([new Field('a', new Float64(), false), new Field('b', new Float64(), false)]);
    const column = () => makeData({ type: new Float64(), length: 5000, nullCount: 0, data: new Float64Array(5000) });
    const batches = Array.from({ length: 20 }, () => createRecordBatch(schema, 5000, [column(), column()]));
    const decoded = decodeBody(decodeArrow, writeArrow(schema, batches));
    expect(decoded.batches.map((batch) => batch.numRows)).toEqual([70_000, 30_000]);
  });

  test('and large ones stay unchanged, in order', async () => {
    expect(await decodedRows(120_000, 40_000)).toEqual([40_000, 40_000, 40_000]);
    expect(await decodedRows(45_000, 40_000)).toEqual([40_000, 5000]);
  });

  test('but not across a replaced dictionary', () => {
    const type = new Dictionary(new Utf8(), new Int32(), 1);
    const schema = new Schema([new Field('a', type, true)]);
    const words = [['x'], ['y', 'x'], ['z']];
    const batches = words.map((of) => createRecordBatch(schema, of.length, [dictionaryOf(bytes)(type, of)]));
    const decoded = decodeBody(decodeArrow, writeArrow(schema, batches));
    expect(decoded.batches.map((batch) => [...(batch.getChildAt(0) ?? [])])).toEqual(words);
  });

  test('and their bytes are returned to the budget', { tags: ['slow'] }, async () => {
    const { schema } = longFrame(0);
    const body = writeArrow(schema, await batchesOf(400_000, 100));
    // 8 bytes per row, and twice that while a megabyte of them is being merged.
    expect(decodeBody(decodeArrow, body, { maxBytes: 8 * 400_000 + 1_200_000 }).batches).toHaveLength(7);
  });
});

const SAMPLES = SAMPLE_FRAMES.filter(({ batches }) => batches.length === 1);

test.each(SAMPLES)('$name: batches of one row become one again', async (sample) => {
  const decoded = decodeBody(decodeArrow, writeArrow(sample.schema, singleRows(sample)));
  expect(decoded.batches.length).toBeLessThanOrEqual(1);
  await ENCODING_CHECKS.arrow(await bytesOf(encodeArrowStream(streamOfSample(sample, decoded.batches))), sample);
});
