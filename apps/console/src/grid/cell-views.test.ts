import { describe, expect, test } from 'vitest';
import { hexText, indentedJson } from './cell-views.ts';

describe('JSON', () => {
  test.each([
    ['{"a":1,"b":[1,2]}', '{\n  "a": 1,\n  "b": [\n    1,\n    2\n  ]\n}'],
    ['[]', '[]'],
    ['{"a":{}}', '{\n  "a": {}\n}'],
    ['[9007199254740993]', '[\n  9007199254740993\n]'],
    ['{"say \\"x\\", {":"}"}', '{\n  "say \\"x\\", {": "}"\n}'],
  ])('%s has its members on lines', (text, expected) => {
    expect(indentedJson(text)).toBe(expected);
  });

  test.each([
    ['nested', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['flat', `[${'[],'.repeat(300_000)}[]]`],
    ['one string', JSON.stringify(['"'.repeat(3_000_000)])],
  ])('a value of megabytes is indented within the time of a test: %s', (_, text) => {
    expect(indentedJson(text)?.startsWith('[\n  ')).toBe(true);
  });

  test.each(['text', '12', '{broken', ''])('%j is no object', (text) => {
    expect(indentedJson(text)).toBeUndefined();
  });
});

test.each([
  ['BINARY', 'AP+A', '000000  00 ff 80                                         ...'],
  ['STRING', 'Aé', '000000  41 c3 a9                                         A..'],
])('%s %s in hex', (type, text, expected) => {
  expect(hexText(text, { name: 'c', type })).toBe(expected);
});
