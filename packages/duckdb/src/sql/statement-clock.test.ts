import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startClock, whenReached } from './queue.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([
  ['wall time, if it has a tenth of a core', 1000, 100, 1000],
  ['wall time, if it has many cores', 1000, 8000, 1000],
  ['ten times its CPU time, if it has less of a core', 1000, 30, 300],
  ['at least a quarter of wall time', 1000, 1, 250],
  ['wall time, if the system does not report the CPU time', 1000, undefined, 1000],
])('a statement has run for %s', (_, wallMs, cpuMs, expected) => {
  let cpu = cpuMs === undefined ? undefined : 5000;
  const clock = startClock(() => cpu);
  vi.advanceTimersByTime(wallMs);
  cpu = cpuMs === undefined ? undefined : 5000 + cpuMs;
  expect(clock()).toBe(expected);
});

test('a clock does not jump while the CPU time cannot be read', () => {
  let cpu: number | undefined = 0;
  const clock = startClock(() => cpu);
  vi.advanceTimersByTime(1000);
  cpu = 50;
  expect(clock()).toBe(500);
  cpu = undefined;
  expect(clock()).toBe(500);
});

test.each([
  ['runs when the clock reaches it', false, 1],
  ['does not run after it was stopped', true, 0],
])('a callback of a clock %s', (_, isStopped, times) => {
  let cpu = 0;
  const work = vi.fn<() => void>();
  const waiting = whenReached(
    startClock(() => cpu),
    100,
    work,
  );
  vi.advanceTimersByTime(150);
  expect(work).not.toHaveBeenCalled();
  if (isStopped) waiting.stop();
  cpu = 10;
  vi.advanceTimersByTime(1000);
  expect(work).toHaveBeenCalledTimes(times);
});
