import { describe, expect, test } from 'vitest';
import { decodeBody, type DecodeBodyOptions, refusalOf } from '../../../test/decode-body.ts';
import { decodeJson } from './json-decoder.ts';

const decode = (body: string | Uint8Array, options: DecodeBodyOptions = {}) => decodeBody(decodeJson, body, options);
const failure = (body: string | Uint8Array, options: DecodeBodyOptions = {}) => refusalOf(() => decode(body, options));

function nestedLists(depth: number): string {
  return `[{"a":${'['.repeat(depth)}${']'.repeat(depth)}}]`;
}

function wideRow(columns: number): string {
  return `[{${Array.from({ length: columns }, (_, i) => `"c${i}":1`).join(',')}}]`;
}

describe('invalid JSON rows are refused with the position', () => {
  test.each([
    ['', 'The body is empty.'],
    ['  ', 'The body ends before the first row, at byte 2.'],
    ['{"a":1}', 'The body is not an array but begins with "{", at byte 0 (line 1, character 1).'],
    ['null', 'The body is not an array but begins with "n", at byte 0 (line 1, character 1).'],
    ['[', 'The body ends before the first row, at byte 1.'],
    ['[{"a":1}', 'The body ends after row 1, at byte 8.'],
    ['[{"a":"x', 'The body ends inside row 1, at byte 8.'],
    ['[{"a":1},{"a', 'The body ends inside row 2, at byte 12.'],
    ['[{"a":1}, ', 'The body ends after row 1, at byte 10.'],
    ['[1]', 'Row 1: the row is not an object but begins with "1", at byte 1 (line 1, character 2).'],
    ['[{"a":1},]', 'Row 2: the row is not an object but begins with "]", at byte 9 (line 1, character 10).'],
    ['[{"a":1}{}]', 'Row 1: expected "," or "]" after a row, found "{", at byte 8 (line 1, character 9).'],
    ['[{"a":1}]\n[]', 'Row 1: expected nothing after the array, found "[", at byte 10 (line 2, character 1).'],
    ['[{"a":1,}]', 'Row 1: expected a key in double quotes, found "}", at byte 8 (line 1, character 9).'],
    ['[{a:1}]', 'Row 1: expected a key in double quotes, found "a", at byte 2 (line 1, character 3).'],
    ['[{"a" 1}]', 'Row 1, column "a": expected ":" after a key, found "1", at byte 6 (line 1, character 7).'],
    [
      '[\n {"a":1},\n {"b":NaN}\n]',
      'Row 2, column "b": expected a value, found "NaN", at byte 18 (line 3, character 7).',
    ],
    ['[{"a":nul}]', 'Row 1, column "a": expected a value, found "nul", at byte 6 (line 1, character 7).'],
    ['[{"a":[1,]}]', 'Row 1, column "a": expected a value, found "]", at byte 9 (line 1, character 10).'],
    [
      '[{"a":1 /* */}]',
      'Row 1, column "a": expected "," or "}" after a value, found "/", at byte 8 (line 1, character 9).',
    ],
    [
      '[{"a":01}]',
      'Row 1, column "a": expected no digit after a leading zero, found "1", at byte 7 (line 1, character 8).',
    ],
    ['[{"a":-}]', 'Row 1, column "a": expected a digit, found "}", at byte 7 (line 1, character 8).'],
    ['[{"a":1.}]', 'Row 1, column "a": expected a digit, found "}", at byte 8 (line 1, character 9).'],
    ['[{"a":1e+}]', 'Row 1, column "a": expected a digit, found "}", at byte 9 (line 1, character 10).'],
    [
      '[{"a":1e400}]',
      'Row 1, column "a": the number 1e400 is beyond the range of a double, at byte 6 (line 1, character 7).',
    ],
    [
      '[{"a":-1e-400}]',
      'Row 1, column "a": the number -1e-400 is beyond the range of a double, at byte 6 (line 1, character 7).',
    ],
    ['[{"a":"\\x"}]', 'Row 1, column "a": a string contains an unknown escape, at byte 7 (line 1, character 8).'],
    [
      '[{"a":"\\u12"}]',
      'Row 1, column "a": a string contains a \\u that is not followed by four hexadecimal digits, at byte 7 (line 1, character 8).',
    ],
    [
      '[{"a":"\n"}]',
      'Row 1, column "a": a string contains the control character 0x0a, at byte 7 (line 1, character 8).',
    ],
    ['[{"a":1,"a":2}]', 'Row 1, column "a": duplicate key "a", at byte 11 (line 1, character 12).'],
    ['[{"a":{"b":1,"b":2}}]', 'Row 1, column "a": duplicate key "b", at byte 16 (line 1, character 17).'],
  ])('%j', (body, message) => {
    for (const chunkBytes of [1, Infinity]) {
      const error = failure(body, { chunkBytes });
      expect([error.code, error.message]).toEqual(['invalid_data', message]);
    }
  });

  test('the hint for a body that is not an array shows one', () => {
    expect(failure('{"a":1}').hint).toContain('[{"id":1},{"id":2}]');
  });

  test('values may be nested 32 deep, but not 33', () => {
    expect(decode(nestedLists(32)).batches).toHaveLength(1);
    expect(failure(nestedLists(33)).message).toContain('nested more than 32 deep');
  });

  test('rows may have 10 000 columns, but not more', { tags: ['slow'] }, () => {
    expect(decode(wideRow(10_000)).schema.fields).toHaveLength(10_000);
    expect(failure(wideRow(10_001)).message).toBe('The rows have more than 10000 columns, including nested ones.');
  });

  test('a frame that exceeds its limit is out_of_memory before its last row', () => {
    const body = `[${'{"a":"0123456789"},'.repeat(50_000)}NaN]`;
    expect(failure(body, { maxBytes: 300_000, chunkBytes: 1 << 14 })).toMatchObject({
      code: 'out_of_memory',
      message: 'The frame needs more than the 300000 bytes that are free for it.',
    });
  });

  test('the counted memory is that of the frame, not that reserved while reading', () => {
    const body = `[${Array.from({ length: 70_000 }, (_, i) => `{"a":${i}}`).join(',')}]`;
    expect(decode(body, { maxBytes: 1_500_000 }).batches).toHaveLength(2);
  });

  test.each([
    ['a continuation byte alone', [0x80]],
    ['an overlong form', [0xc0, 0x80]],
    ['an overlong form of three bytes', [0xe0, 0x80, 0x80]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['beyond U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
    ['a truncated character', [0xe2, 0x82]],
  ])('%s is not UTF-8', (_name, bytes) => {
    const body = Buffer.concat([Buffer.from('[{"a":"x'), Buffer.from(bytes), Buffer.from('"}]')]);
    expect(failure(body).message).toBe(
      'Row 1, column "a": a string is not valid UTF-8, at byte 8 (line 1, character 9).',
    );
  });
});

describe('the text of a row has at most 64 MiB', () => {
  const MAX_BYTES = 1 << 26;
  /** A row of `bytes` bytes. */
  const rowOf = (bytes: number) => `{"a":"${'x'.repeat(bytes - 8)}"}`;

  test('and a row of that length is read', { tags: ['slow'] }, () => {
    expect(decode(`[{},${rowOf(MAX_BYTES)}]`).batches.map(({ numRows }) => numRows)).toEqual([2]);
  });

  test.each([
    ['at once', Infinity, 1],
    ['in parts', 5 << 20, 1],
    ['in chunks that end late', 5 << 20, 1 << 25],
  ])('and a longer one is refused, also if it comes %s', { tags: ['slow'] }, (_name, chunkBytes, more) => {
    expect(failure(`[{},\n${rowOf(MAX_BYTES + more)}]`, { chunkBytes })).toMatchObject({
      code: 'invalid_data',
      message: 'Row 2: the text of a row has more than 67108864 bytes, at byte 5 (line 2, character 1).',
      hint: 'Send smaller rows.',
    });
  });
});
