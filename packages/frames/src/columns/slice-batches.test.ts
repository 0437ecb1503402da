import { type Data, DataType } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { encodeJsonTable } from '../encode/row-formats.ts';
import { ENCODING_CHECKS } from '../testing/encoding-checks.ts';
import { bytesOf, SAMPLE_FRAMES, streamOfSample } from '../testing/index.ts';
import type { SampleFrame } from '../testing/sample-frame.ts';
import { createRecordBatch } from './record-batch.ts';
import { sliceData } from './slice-batches.ts';

type Slice = (data: Data) => Data;

async function check(sample: SampleFrame, start: number, length: number, slice: Slice): Promise<void> {
  const [{ data }] = sample.batches;
  const children: readonly Data[] = data.children;
  const batch = createRecordBatch(sample.schema, length, children.map(slice));
  const json = await bytesOf(encodeJsonTable(streamOfSample(sample, [batch]), { query: 'q' }));
  await ENCODING_CHECKS.json(json, { ...sample, rows: sample.rows.slice(start, start + length) });
}

const SAMPLES = SAMPLE_FRAMES.filter(({ batches, rows }) => batches.length === 1 && rows.length >= 19);

describe('a slice has the rows it should', () => {
  test.each(SAMPLES)('$name', async (sample) => {
    for (const [start, length] of [
      [0, 19],
      [0, 1],
      [1, 1],
      [7, 9],
      [8, 8],
      [9, 10],
      [18, 1],
      [5, 0],
    ]) {
      await check(sample, start, length, (data) => sliceData(data, start, length));
    }
  });
  test.each(SAMPLES)('$name: of a slice', async (sample) => {
    await check(sample, 5, 9, (data) => sliceData(sliceData(data, 2, 16), 3, 9));
  });
  test.each(SAMPLES)('$name: of a slice of apache-arrow', async (sample) => {
    await check(sample, 5, 9, (data) => sliceData(data.slice(2, 16), 3, 9));
  });
});

/** The column and all its descendants. */
function* partsOf(data: Data): Generator<Data> {
  yield data;
  for (const child of data.children) yield* partsOf(child);
}

test('a slice and its children start at row 0 and know their null counts', () => {
  for (const { batches } of SAMPLES) {
    const [{ data }] = batches;
    for (const column of data.children) {
      for (const part of partsOf(sliceData(column, 3, 11))) {
        expect([part.offset, Number(part.valueOffsets?.[0] ?? 0) * part.children.length]).toEqual([0, 0]);
        const rows = Array.from({ length: part.length }, (_, row) => row);
        // A null column has no validity bits.
        const nulls = DataType.isNull(part.type) ? rows : rows.filter((row) => !part.getValid(row));
        expect(part.nullCount).toBe(nulls.length);
      }
    }
  }
});

test('a slice shares the values of its column', () => {
  const fixed = SAMPLES.flatMap(({ batches }) => batches[0].data.children).filter(
    (data: Data) => data.values !== undefined && !DataType.isBool(data.type),
  );
  expect(fixed.length).toBeGreaterThan(20);
  for (const data of fixed) expect(sliceData(data, 3, 5).values.buffer).toBe(data.values.buffer);
});
