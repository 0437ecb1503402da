import { expect, test } from 'vitest';
import { createSlices } from './slices.ts';

/** Takes about a millisecond. */
function work(): void {
  const endsAtMs = performance.now() + 1;
  while (performance.now() < endsAtMs);
}

test('other tasks run between the slices, and every row is visited once, in order', async () => {
  const visited: number[] = [];
  const seenByOthers: number[] = [];
  const timer = setInterval(() => seenByOthers.push(visited.length), 1);
  await createSlices().forEach(100, (index) => {
    visited.push(index);
    work();
  });
  clearInterval(timer);
  expect(visited).toEqual(Array.from({ length: 100 }, (_, index) => index));
  expect(seenByOthers.length).toBeGreaterThan(2);
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
