import { expect, test } from 'vitest';
import { likePattern } from './like-pattern.ts';

test.each([
  [undefined, 'anything', true],
  ['', '', true],
  ['', 'a', false],
  ['%', '', true],
  ['%', 'trades', true],
  ['tr%', 'trades', true],
  ['tr%', 'atr', false],
  ['%es', 'trades', true],
  ['t%d%s', 'trades', true],
  ['t_ades', 'trades', true],
  ['t_des', 'trades', false],
  ['a.c', 'abc', false],
  ['Trades', 'trades', false],
  [String.raw`a\_b`, 'a_b', true],
  [String.raw`a\_b`, 'axb', false],
  [String.raw`\\`, '\\', true],
  ['_', 'ü', true],
  ['_', '😀', true],
])('%j is like %j: %s', (pattern, name, expected) => {
  expect(likePattern(pattern)(name)).toBe(expected);
});

test('a pattern with many % matches quickly', () => {
  expect(likePattern('%a'.repeat(500))('a'.repeat(499))).toBe(false);
  expect(likePattern(`${'%a'.repeat(60)}b`)('a'.repeat(5000))).toBe(false);
});

test('a pattern longer than any name is refused', () => {
  expect(() => likePattern('%a'.repeat(501))).toThrow('is longer than 1000 characters');
});
