import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeBody, type DecodeBodyOptions, plainRows, refusalOf } from '../../../test/decode-body.ts';
import { decodeJson, decodeNdjson } from './json-decoder.ts';

const decode = (body: string, options: DecodeBodyOptions = {}) => decodeBody(decodeNdjson, body, options);
const rowsOf = (body: string, options: DecodeBodyOptions = {}) => plainRows(decode(body, options).batches);

describe('one object per line is a row', () => {
  test.each([
    ['lines that end with \\n', '{"a":1}\n{"a":2}\n'],
    ['lines that end with \\r\\n', '{"a":1}\r\n{"a":2}\r\n'],
    ['a last line without a line end', '{"a":1}\n{"a":2}'],
    ['blank lines', '\n\n{"a":1}\n \t\r\n\n{"a":2}\n\n  \n'],
    ['a last line of white space', '{"a":1}\n{"a":2}\n  '],
    ['white space around and inside objects', '  {\t"a" : 1 } \r\n\t{"a":2}\t'],
    ['a byte order mark', '\ufeff{"a":1}\n{"a":2}\n'],
    ['a byte order mark before a blank line', '\ufeff\r\n{"a":1}\n{"a":2}\n'],
  ])('%s', (_name, body) => {
    for (const chunkBytes of [1, 2, 3, Infinity]) expect(rowsOf(body, { chunkBytes })).toEqual([{ a: 1 }, { a: 2 }]);
  });

  test('an escaped line end is part of a string', () => {
    expect(rowsOf('{"a":"x\\ny"}\n')).toEqual([{ a: 'x\ny' }]);
  });

  test('whole numbers past 2^53 are exact', () => {
    const { batches } = decode('{"a":9007199254740993}\n{"a":-9223372036854775808}\n');
    expect([...(batches[0].getChild('a') ?? [])]).toEqual([9007199254740993n, -(2n ** 63n)]);
  });

  test.each(['', '\n', ' \n\r\n\t', '\ufeff', '\ufeff\r\n'])('%j is a frame without columns and rows', (body) => {
    for (const chunkBytes of [1, Infinity]) {
      const { schema, batches } = decode(body, { chunkBytes });
      expect([schema.fields, batches]).toEqual([[], []]);
    }
  });

  test('many rows are several batches', () => {
    const { batches } = decode('{"a":1}\n'.repeat(70_000), { chunkBytes: 1 << 16 });
    expect(batches.map((batch) => batch.numRows)).toEqual([65_536, 4464]);
  });
});

describe('text that is not one object per line is refused with the position', () => {
  test.each([
    ['[{"a":1}]', 'Row 1: the row is not an object but begins with "[", at byte 0 (line 1, character 1).'],
    ['{"a":1}\n\n2\n', 'Row 2: the row is not an object but begins with "2", at byte 9 (line 3, character 1).'],
    [
      '{"a":1} {"a":2}\n',
      'Row 1: expected the end of the line after a row, found "{", at byte 8 (line 1, character 9).',
    ],
    [
      '{"a":1},\n{"a":2}\n',
      'Row 1: expected the end of the line after a row, found ",", at byte 7 (line 1, character 8).',
    ],
    [
      '{"a":1}\n{\n"a":2}\n',
      'Row 2: expected a key in double quotes, found the end of the line, at byte 9 (line 2, character 2).',
    ],
    [
      '{"a":1\r\n}\n',
      'Row 1, column "a": expected "," or "}" after a value, found the end of the line, at byte 7 (line 1, character 8).',
    ],
    [
      '{"a":[1,\n2]}\n',
      'Row 1, column "a": expected a value, found the end of the line, at byte 8 (line 1, character 9).',
    ],
    ['{"a":1}\n{"b":NaN}', 'Row 2, column "b": expected a value, found "NaN", at byte 13 (line 2, character 6).'],
    ['{"a":1}\n{"a":', 'The body ends inside row 2, at byte 13.'],
    [' \n\t{', 'The body ends inside row 1, at byte 4.'],
    ['{"a', 'The body ends inside row 1, at byte 3.'],
  ])('%j', (body, message) => {
    for (const chunkBytes of [1, Infinity]) {
      const error = refusalOf(() => decode(body, { chunkBytes }));
      expect([error.code, error.message]).toEqual(['invalid_data', message]);
    }
  });

  test.each([
    ['an array', '[{"a":1}]', 'an array of objects is JSON, not NDJSON'],
    ['an object over several lines', '{\n"a":1}', 'on every line: one complete object'],
    ['an object of several lines', '{\n  "a": 1\n}\n', 'Wrap objects of several lines in [ ]'],
  ])('the hint for %s says what is correct', (_name, body, hint) => {
    expect(refusalOf(() => decode(body)).hint).toContain(hint);
  });

  test('the hint for lines sent as JSON names NDJSON', () => {
    expect(refusalOf(() => decodeBody(decodeJson, '{"a":1}\n{"a":2}\n')).hint).toContain('NDJSON');
  });

  test('a frame that exceeds its limit is out_of_memory before its last row', () => {
    const body = `${'{"a":"0123456789"}\n'.repeat(50_000)}NaN`;
    expect(refusalOf(() => decode(body, { maxBytes: 300_000, chunkBytes: 1 << 14 })).code).toBe('out_of_memory');
  });
});

test('any rows give the same frame as in an array', () => {
  const value = fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.array(fc.integer()), fc.double());
  const rows = fc.array(fc.dictionary(fc.constantFrom('a', 'b', 'é\n"'), value, { noNullPrototype: true }), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(rows, fc.integer({ min: 1, max: 20 }), (values, chunkBytes) => {
      const lines = decode(values.map((row) => `${JSON.stringify(row)}\n`).join(''), { chunkBytes });
      const array = decodeBody(decodeJson, JSON.stringify(values));
      expect(String(lines.schema)).toBe(String(array.schema));
      expect(plainRows(lines.batches)).toEqual(plainRows(array.batches));
    }),
    { numRuns: 200 },
  );
});
