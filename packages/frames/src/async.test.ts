import { afterEach, expect, test, vi } from 'vitest';
import { createYield } from './async.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

test('long work lets the event loop turn, once for all that wait, and short work does not', async () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1e9);
  const pause = createYield();
  await pause();
  expect(pause()).toBeUndefined();
  now.mockReturnValue(1e9 + 10);
  const turn = pause();
  expect(turn).toBeInstanceOf(Promise);
  expect(createYield()()).toBe(turn);
  await turn;
  expect(pause()).toBeUndefined();
  now.mockReturnValue(1e9 + 20);
  expect(pause()).toBeInstanceOf(Promise);
});
