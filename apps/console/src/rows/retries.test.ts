import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ClientError } from '@svc/client/internal';
import { createRetries } from './retries.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function refused(status: number, retryAfterMs?: number): ClientError {
  return new ClientError('Refused.', { code: `http_${status}`, status, retryAfterMs });
}

/** When something is tried again that fails five times in the same way. */
function timesOf(error: Error): number[] {
  const times: number[] = [];
  const startMs = Date.now();
  const retries = createRetries(() => {
    times.push(Date.now() - startMs);
    if (times.length < 5) retries.fail(error);
  });
  retries.fail(error);
  vi.advanceTimersByTime(600_000);
  return times;
}

test.each([
  ['a server that is gone', new ClientError('Gone.', { code: 'unreachable' }), [500, 1500, 3500, 7500, 15_500]],
  ['a server that is busy', refused(503), [500, 1500, 3500, 7500, 15_500]],
  ['a server that says when', refused(503, 3000), [3000, 6000, 9000, 13_000, 21_000]],
  ['too many requests', refused(429, 10_000), [10_000, 20_000, 30_000, 40_000, 50_000]],
  ['a request that is wrong', refused(400), []],
])('%s is tried again in time', (_, error, times) => {
  expect(timesOf(error)).toEqual(times);
});
