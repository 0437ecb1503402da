import { expect, test } from 'vitest';
import { createStartTrace } from '../src/traces/open-traces.ts';
import { createWallClock } from '../src/traces/span-observer.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const CLIENT = { traceId: TRACE, parentSpanId: SPAN, isSampled: true, isRecorded: true };
const NEW = { isSampled: true, isRecorded: true };

test.each([
  [0.5, 0.49, {}, NEW],
  [0.5, 0.5, {}, undefined],
  [0, 0, {}, undefined],
  [1, 0.999, {}, NEW],
  // The client has decided.
  [0, 0.9, { traceparent: `00-${TRACE}-${SPAN}-01` }, CLIENT],
  [1, 0, { traceparent: `00-${TRACE}-${SPAN}-00` }, { traceId: TRACE, spanId: SPAN, isSampled: false }],
  // A malformed header is ignored.
  [1, 0, { traceparent: `00-${TRACE}-${SPAN}` }, NEW],
  [0, 0, { traceparent: `00-${TRACE}-${SPAN}` }, undefined],
])(
  'with the fraction %d, the random number %d and the headers %j the trace is %j',
  (sample, random, headers, trace) => {
    const started = createStartTrace(sample, () => random)(headers);
    if (trace === undefined) expect(started).toBeUndefined();
    else expect(started).toMatchObject(trace);
  },
);

test('the clock of spans follows a system clock that is set, and ignores its jitter', () => {
  let [system, elapsed] = [1_700_000_000_000, 100];
  const now = createWallClock(
    () => system,
    () => elapsed,
  );
  expect(now()).toBe(1_700_000_000_000);
  elapsed += 0.25;
  expect(now()).toBe(1_700_000_000_000.25);
  system += 3;
  expect(now()).toBe(1_700_000_000_000.25);
  system += 60_000;
  expect(now()).toBe(1_700_000_060_003);
});
