import { expect, test } from 'vitest';
import { countOf, formatBytes, formatCount, formatSpan, timeLeft } from './format.ts';
import { filterFrames } from './server-state.ts';
import { scoreOf } from './palette-items.ts';
import { quoteName } from './quote-name.ts';
import type { FrameInfo } from '../api/api.ts';

const plain = (text: string | undefined): string | undefined => text?.replaceAll('\u202f', ' ');

test.each([
  [0, '0'],
  [999, '999'],
  [1000, '1 000'],
  [1_234_567, '1 234 567'],
])('the count %d is %j', (value, text) => {
  expect(plain(formatCount(value))).toBe(text);
});

test('a count has its noun', () => {
  expect([countOf(0, 'row'), countOf(1, 'row'), countOf(2, 'row')]).toEqual(['0 rows', '1 row', '2 rows']);
});

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 kB'],
  [9_949, '9.9 kB'],
  [9_950, '10 kB'],
  [999_499, '999 kB'],
  [999_500, '1.0 MB'],
  [9_200_000, '9.2 MB'],
  [1e18, '1000 PB'],
])('%d bytes are %j', (bytes, text) => {
  expect(plain(formatBytes(bytes))).toBe(text);
});

test.each([
  [4, '0.00 s'],
  [123, '0.12 s'],
  [3400, '3.4 s'],
  [59_400, '59 s'],
  [60_000, '1 min'],
  [125_000, '2 min 5 s'],
  [11_520_000, '3 h 12 min'],
  [86_400_000, '1 d'],
  [90_060_000, '1 d 1 h'],
])('%d ms are %j', (ms, text) => {
  expect(plain(formatSpan(ms))).toBe(text);
});

test.each([
  [null, undefined],
  ['2026-01-01T00:00:00.000Z', 'expired'],
  ['2026-01-01T00:00:05.700Z', '5 s'],
  ['2026-01-01T00:12:00.000Z', '12 min'],
])('a frame that expires at %s has %s left', (expires, text) => {
  expect(plain(timeLeft(expires, Date.parse('2026-01-01T00:00:00.000Z')))).toBe(text);
});

test.each([
  ['trades', 'trades'],
  ['Trades', '"Trades"'],
  ['a-b', '"a-b"'],
  ['1a', '"1a"'],
  ['order', '"order"'],
  ['a"b', '"a""b"'],
])('SQL writes the name %j as %s', (name, sql) => {
  expect(quoteName(name)).toBe(sql);
});

test('frames are found by words in their names first, then in their columns', () => {
  const frame = (handle: string, ...names: string[]) =>
    ({ handle, columns: names.map((name) => ({ name, type: 'LONG' })) }) as unknown as FrameInfo;
  const frames = [frame('bars', 'price'), frame('prices', 'id'), frame('trades', 'id', 'Price')];
  const found = (filter: string): string[] => filterFrames(frames, filter).map(({ handle }) => handle);
  expect(found('')).toEqual(['bars', 'prices', 'trades']);
  expect(found(' PRICE')).toEqual(['prices', 'bars', 'trades']);
  expect(found('trade price')).toEqual(['trades']);
  expect(found('none')).toEqual([]);
});

test.each([
  ['ticks', 'ti', 4],
  ['Go to a frame', 'frame', 3],
  ['btc-ticks', 'icks', 2],
  ['Open a new query', 'onq', 1],
  ['ticks', 'x', 0],
  ['anything', '', 4],
])('%j fits %j with %d', (title, text, score) => {
  expect(scoreOf(title, text)).toBe(score);
});
