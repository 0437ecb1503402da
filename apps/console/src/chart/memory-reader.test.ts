import { expect, test } from 'vitest';
import { createSlices, placeReader, textReader } from './memory-reader.ts';
import { encodeArrowStream } from '@svc/frames';
import { bytesOf, SAMPLE_FRAMES, streamOfSample } from '@svc/frames/testing';
import { columnsOf } from '../api/arrow-reader.ts';
import { decodeArrow } from '../api/decode-arrow.ts';
import { createAnswerRows } from '../rows/answer-rows.ts';
import { axisOf, placeFromText } from './axis.ts';

/** Takes about a millisecond. */
function work(): void {
  const endsAtMs = performance.now() + 1;
  while (performance.now() < endsAtMs);
}

test('other tasks run between the slices, and every row is visited once, in order', async () => {
  const visited: number[] = [];
  const seenByOthers: number[] = [];
  const timer = setInterval(() => seenByOthers.push(visited.length), 1);
  await createSlices().forEach(320, (index) => {
    visited.push(index);
    work();
  });
  clearInterval(timer);
  expect(visited).toEqual(Array.from({ length: 320 }, (_, index) => index));
  expect(seenByOthers.filter((count) => count > 0 && count < 320)).not.toEqual([]);
});

test('work that was cancelled ends at its next slice', async () => {
  const controller = new AbortController();
  let visited = 0;
  const ended = createSlices(controller.signal).forEach(100_000, () => {
    visited += 1;
    work();
    if (visited === 40) controller.abort();
  });
  await expect(ended).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
  expect(visited).toBeLessThan(140);
  await expect(createSlices(controller.signal).forEach(1, work)).rejects.toThrow();
});

test.each(SAMPLE_FRAMES.map((sample) => [sample.name, sample] as const))(
  'the numbers and times of %s have the places that their texts have',
  async (_, sample) => {
    const table = decodeArrow(await bytesOf(encodeArrowStream(streamOfSample(sample))));
    const rows = createAnswerRows(columnsOf(table.fields));
    rows.append({ kind: 'arrow', table, rowCount: table.rows });
    for (const [index, { name, type }] of rows.columns.entries()) {
      const axis = axisOf(type);
      if (!axis) continue;
      const field = { index, name, type };
      const [placeOf, textOf] = [placeReader(rows, field, axis), textReader(rows, field)];
      for (let row = 0; row < table.rows; row += 1) {
        const expected = placeFromText(axis, textOf(row));
        // The text of a 32-bit float has its digits only.
        const isFloat = type === 'FLOAT' && expected !== undefined;
        expect([name, row, placeOf(row)]).toEqual([name, row, isFloat ? Math.fround(Number(expected)) : expected]);
      }
    }
  },
);
