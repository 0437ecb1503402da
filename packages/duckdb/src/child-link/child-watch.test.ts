import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type ChildWatch, createChildWatch, cpuTimeOf } from './child-link.ts';

let watch: ChildWatch;
let seconds: number;
let events: [event: string, second: number][];
/** The CPU time of the child at each second. */
let cpu: (second: number) => number | undefined;

beforeEach(() => {
  vi.useFakeTimers();
  seconds = 0;
  events = [];
  cpu = () => 7;
  watch = createChildWatch({
    ping: () => undefined,
    onSilent: () => events.push(['silent', seconds]),
    onHung: () => events.push(['hung', seconds]),
    cpuTime: () => cpu(seconds),
  });
});

afterEach(() => {
  watch.stop();
  vi.useRealTimers();
});

function pass(count: number): void {
  for (let i = 0; i < count; i += 1) {
    seconds += 1;
    vi.advanceTimersByTime(1000);
  }
}

test('a child that answers now and then is neither replaced nor killed', () => {
  for (let i = 0; i < 30; i += 1) {
    watch.alive();
    pass(4);
  }
  expect(events).toEqual([]);
});

test('a silent child is reported after 3 s, replaced after 5 s, and killed after 10 s without CPU time', () => {
  watch.alive();
  pass(2);
  expect(watch.isResponding).toBe(true);
  pass(1);
  expect(watch.isResponding).toBe(false);
  pass(100);
  expect(events).toEqual([
    ['silent', 5],
    // The first of these seconds reads the CPU time, the last finds that it has not grown.
    ['hung', 12],
  ]);
});

test.each<[string, (second: number) => number | undefined]>([
  ['one that uses the CPU', (second) => second],
  ['one that gets a little of the CPU every 5 s', (second) => Math.floor(second / 5)],
  ['one whose CPU time is not known', () => undefined],
])('%s is killed only after a minute', (_, time) => {
  cpu = time;
  watch.alive();
  pass(100);
  expect(events).toEqual([
    ['silent', 5],
    ['hung', 60],
  ]);
});

test('one that has never answered has 30 s more to start', () => {
  pass(32);
  expect([watch.isResponding, watch.hasAnswered, events]).toEqual([true, false, []]);
  pass(3);
  expect([watch.isResponding, events]).toEqual([false, [['silent', 35]]]);
});

test('one that answers again after a pause counts from the start', () => {
  watch.alive();
  pass(9);
  watch.alive();
  expect(watch.isResponding).toBe(true);
  pass(4);
  expect(events).toEqual([['silent', 5]]);
});

test('a pause of this process does not count as silence of the child', () => {
  watch.alive();
  // No timer fires while a process is stopped, and then only once.
  vi.setSystemTime(Date.now() + 3_600_000);
  pass(2);
  expect([watch.isResponding, events]).toEqual([true, []]);
});

test.runIf(process.platform === 'linux')('the CPU time of a process grows while it works', () => {
  vi.useRealTimers();
  const before = cpuTimeOf(process.pid) ?? 0;
  const end = performance.now() + 100;
  while (performance.now() < end);
  expect(cpuTimeOf(process.pid)).toBeGreaterThan(before);
  expect(cpuTimeOf(2 ** 30)).toBeUndefined();
});
