import { expect, test } from 'vitest';
import { untilAnswered } from '../src/http/listen.ts';

/** Connections whose counts follow a list, one entry for each time they are read; the last one stays. */
function countsOf(accepted: readonly number[], inFlight: readonly number[]) {
  const reads = { accepted: 0, inFlight: 0 };
  return {
    reads,
    accepted: () => accepted[Math.min(reads.accepted++, accepted.length - 1)] ?? 0,
    inFlight: () => inFlight[Math.min(reads.inFlight++, inFlight.length - 1)] ?? 0,
  };
}

test.each([
  ['no client comes', [0], [0], 1],
  ['a client connects, and nothing more', [0, 1], [0], 2],
  ['a request is in flight for two pauses', [1], [1, 1, 0], 3],
  ['a request never ends', [1], [1], 40],
])('the wait for the first clients ends if %s', async (_name, accepted, inFlight, pauses) => {
  const connections = countsOf(accepted, inFlight);
  await untilAnswered(connections);
  expect(connections.reads.accepted).toBe(2 * pauses);
});
