import { afterEach, expect, test, vi } from 'vitest';
import { createYield } from './create-yield.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

test('long work lets the event loop turn, once for all that wait, and short work does not', async () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1000);
  const pause = createYield();
  expect(pause()).toBeUndefined();
  now.mockReturnValue(1010);
  const turn = pause();
  expect(turn).toBeInstanceOf(Promise);
  expect(pause()).toBe(turn);
  await turn;
  expect(pause()).toBeUndefined();
  now.mockReturnValue(1020);
  expect(pause()).toBeInstanceOf(Promise);
});
