import { expect, test } from 'vitest';
import { parseServerTiming } from './server-timing.ts';

test.each([
  ['queue;dur=1.500, execute;dur=43.714', { queueMs: 1.5, executeMs: 43.714 }],
  ['db;dur=5, queue;dur=0.000, execute;dur=33', { queueMs: 0, executeMs: 33 }],
  ['execute;dur=1, queue;dur=0, execute;dur=2', { queueMs: 0, executeMs: 2 }],
  ['execute;desc="x";dur=7', { queueMs: 0, executeMs: 7 }],
  ['execute', undefined],
  ['execute;dur=', undefined],
  ['execute;dur=soon', undefined],
  ['', undefined],
  [null, undefined],
])('the header %j means %j', (header, expected) => {
  expect(parseServerTiming(header)).toEqual(expected);
});
