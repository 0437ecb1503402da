import { StructRow, Vector } from 'apache-arrow';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeBody, type DecodeBodyOptions, type DecodedBody, refusalOf } from '../../../test/decode-body.ts';
import { decodeJson } from './json-decoder.ts';

const decode = (body: string | Uint8Array, options: DecodeBodyOptions = {}) => decodeBody(decodeJson, body, options);

function types({ schema }: DecodedBody): Record<string, string> {
  return Object.fromEntries(schema.fields.map((field) => [field.name, String(field.type)]));
}

function plain(value: unknown): unknown {
  if (value instanceof Vector) return [...value].map(plain);
  return value instanceof StructRow ? plainRow(value.toJSON()) : value;
}

function plainRow(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)]));
}

function rows({ batches }: DecodedBody): Record<string, unknown>[] {
  return batches.flatMap((batch) => batch.toArray().map((row) => plainRow(row.toJSON())));
}

/** The type and values of the only column, `a`. */
function column(...values: string[]) {
  const decoded = decode(`[${values.map((value) => (value === '' ? '{}' : `{"a":${value}}`)).join(',')}]`);
  return [types(decoded)['a'], ...rows(decoded).map((row) => row.a)];
}

describe('the type of a column', () => {
  test.each([
    ['whole numbers', ['1', '-2', '0'], ['Int64', 1n, -2n, 0n]],
    [
      'whole numbers past 2^53',
      ['9007199254740993', '-9007199254740993'],
      ['Int64', 9007199254740993n, -9007199254740993n],
    ],
    ['the ends of int64', ['9223372036854775807', '-9223372036854775808'], ['Int64', 2n ** 63n - 1n, -(2n ** 63n)]],
    ['uint64', ['1', '18446744073709551615'], ['Uint64', 1n, 2n ** 64n - 1n]],
    ['uint64 and a negative number', ['-1', '18446744073709551615'], ['Utf8', '-1', '18446744073709551615']],
    ['beyond uint64', ['1', '18446744073709551616'], ['Utf8', '1', '18446744073709551616']],
    ['beyond int64 below', ['-9223372036854775809'], ['Utf8', '-9223372036854775809']],
    ['beyond uint64 and a fraction', ['100000000000000000000', '0.5'], ['Float64', 1e20, 0.5]],
    ['fractions', ['1.5', '-0.25', '1e3', '1E-2'], ['Float64', 1.5, -0.25, 1000, 0.01]],
    ['integers and other numbers', ['1', '1.5', '9007199254740992'], ['Float64', 1, 1.5, 9007199254740992]],
    [
      'an integer that is no double, and a fraction',
      ['1', '1.50', '9007199254740993'],
      ['Utf8', '1', '1.50', '9007199254740993'],
    ],
    [
      'a fraction, and a large integer that is no double',
      ['0.5', `1${'0'.repeat(39)}1`],
      ['Utf8', '0.5', `1${'0'.repeat(39)}1`],
    ],
    ['the shortest digits of a double', ['123456789012345680000', '0.5'], ['Float64', 123456789012345680000, 0.5]],
    ['a negative zero', ['-0', '1'], ['Float64', -0, 1]],
    ['a number with a dot', ['1.0'], ['Float64', 1]],
    ['booleans', ['true', 'false', 'null'], ['Bool', true, false, null]],
    ['only null', ['null', ''], ['Utf8', null, null]],
    ['a missing key', ['1', '', '3'], ['Int64', 1n, null, 3n]],
    ['numbers and text', ['9007199254740993', '1.50', '"x"'], ['Utf8', '9007199254740993', '1.50', 'x']],
    ['text and numbers', ['"x"', '9007199254740993', '1.50'], ['Utf8', 'x', '9007199254740993', '1.50']],
    [
      'numbers of any notation and text',
      ['-0', '-0.0', '1E+2', '1e-7', '0.0000001', '0.10000000000000000555', '1.5', '"x"'],
      ['Utf8', '-0', '-0.0', '1E+2', '1e-7', '0.0000001', '0.10000000000000000555', '1.5', 'x'],
    ],
    [
      'numbers in arrays and text',
      ['[1,2.50,[3.0]]', '"x"', '{"b":1e2}'],
      ['Utf8', '[1,2.50,[3.0]]', 'x', '{"b":1e2}'],
    ],
    [
      'an array with an integer that is no double',
      ['[9007199254740993,0.50]'],
      ['List<Utf8>', ['9007199254740993', '0.50']],
    ],
    ['booleans and numbers', ['true', '1', 'false'], ['Utf8', 'true', '1', 'false']],
    [
      'nested and text',
      ['{"b":[1,"\\n",null,{}],"c":{"d":true,"e":null}}', '[]', '"x"', '{ }'],
      ['Utf8', '{"b":[1,"\\n",null,{}],"c":{"d":true}}', '[]', 'x', '{}'],
    ],
    ['arrays', ['[1,null]', '[]', 'null', '[2]'], ['List<Int64>', [1n, null], [], null, [2n]]],
    ['empty arrays only', ['[]', '[]'], ['List<Utf8>', [], []]],
    ['arrays of arrays', ['[[1],[]]', '[[2.5]]'], ['List<List<Float64>>', [[1], []], [[2.5]]]],
    ['mixed arrays', ['[1,"x"]'], ['List<Utf8>', ['1', 'x']]],
    ['objects', ['{"b":1}', '{"c":"x"}'], ['Struct<{b:Int64, c:Utf8}>', { b: 1n, c: null }, { b: null, c: 'x' }]],
    ['empty objects only', ['{}', 'null'], ['Struct<{}>', {}, null]],
    ['arrays of objects', ['[{"b":1},{}]'], ['List<Struct<{b:Int64}>>', [{ b: 1n }, { b: null }]]],
  ])('%s', (_name, values, expected) => {
    expect(column(...values)).toEqual(expected);
  });

  test('columns are in the order in which they first appear', () => {
    expect(types(decode('[{"b":1},{"a":2,"b":3},{"c":4}]'))).toEqual({ b: 'Int64', a: 'Int64', c: 'Int64' });
  });

  test('an empty array has no columns and no rows', () => {
    const decoded = decode(' [ ] ');
    expect([types(decoded), rows(decoded)]).toEqual([{}, []]);
  });

  test('empty objects are rows', () => {
    const { batches, schema } = decode('[{},{},{}]');
    expect([schema.fields, batches.map((batch) => batch.numRows)]).toEqual([[], [3]]);
  });

  test('an empty key and a key with escapes are names', () => {
    expect(types(decode('[{"":1,"a\\"\\u00e9\\\\":2},{"":3,"a\\"é\\\\":4}]'))).toEqual({
      '': 'Int64',
      'a"é\\': 'Int64',
    });
  });

  test('a column that appears in a later batch is null before', () => {
    const text = `[${'{"a":1},'.repeat(70_000)}{"a":"x","b":[true]}]`;
    const { batches, schema } = decode(text, { chunkBytes: 1 << 16 });
    expect(batches.map((batch) => batch.numRows)).toEqual([65_536, 4465]);
    expect(String(schema)).toBe('Schema<{ 0: a: Utf8, 1: b: List<Bool> }>');
    expect(plain(batches[0].get(65_535))).toEqual({ a: '1', b: null });
    expect(plain(batches[1].get(4464))).toEqual({ a: 'x', b: [true] });
  });
});

describe('strings', () => {
  test.each([
    ['escapes', '"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'],
    ['\\u', '"\\u0041\\u00e9\\u20AC\\u0000"', 'Aé€\0'],
    ['a surrogate pair', '"\\ud83d\\ude00"', '😀'],
    ['UTF-8 of every length', '"aé€😀"', 'aé€😀'],
  ])('%s', (_name, text, value) => {
    expect(column(text)).toEqual(['Utf8', value]);
  });

  test.each([
    ['a high one', '"\\ud83dx"', '\\ud83d'],
    ['a low one', '"a\\uDE00"', '\\ude00'],
    ['two high ones', '"\\ud83d\\ud83d\\ude00"', '\\ud83d'],
    ['in a nested text', '["\\ud800"]', '\\ud800'],
  ])('a lone surrogate is refused: %s', (_name, text, escape) => {
    const place = '[{"a":'.length + text.indexOf('\\u');
    expect(refusalOf(() => column(text))).toMatchObject({
      code: 'invalid_data',
      message: `Row 1, column "a": a string contains ${escape} without the other half of its character, at byte ${place} (line 1, character ${place + 1}).`,
      hint: 'Send both halves of a character beyond U+FFFF, for example \\ud83d\\ude00, or the character itself.',
    });
  });

  test('a byte order mark before the array is skipped', () => {
    expect(rows(decode('\ufeff[{"a":1}]', { chunkBytes: 1 }))).toEqual([{ a: 1n }]);
  });
});

describe('long texts', () => {
  test('a row in many chunks is not parsed again for each of them', () => {
    const value = 'x'.repeat(4_000_000);
    const started = performance.now();
    expect(column(`"${value}"`)).toEqual(['Utf8', value]);
    const whole = performance.now() - started;
    const decoded = decode(`[{"a":"${value}"}]`, { chunkBytes: 1000 });
    expect(rows(decoded)).toEqual([{ a: value }]);
    expect(performance.now() - started - whole).toBeLessThan(20 * whole + 1000);
  });
});

/** Any JSON value, with integers and other numbers, as JavaScript reads it. */
const jsonRows = fc.array(
  fc.dictionary(
    fc.constantFrom('a', 'b', 'é"', ''),
    fc.oneof(
      fc.constantFrom<unknown>(null, true, false, 0, 1.5, -3, 2 ** 40, 1e21, 5e-324, 1.7976931348623157e308),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.string({ unit: 'grapheme' }),
      fc.array(fc.constantFrom<unknown>(1, 'x', null, true)),
      fc.record({ x: fc.integer(), y: fc.array(fc.string()) }, { requiredKeys: [] }),
    ),
    { noNullPrototype: true },
  ),
  { maxLength: 8 },
);

describe('for any rows', () => {
  test('a column of one kind has the values that JSON.parse gives', { tags: ['slow'] }, () => {
    const kinds: [last: unknown, values: fc.Arbitrary<unknown>][] = [
      // The last value makes it a column of doubles: integers beyond 64 bits alone would be text.
      [0.5, fc.double({ noNaN: true, noDefaultInfinity: true })],
      ['', fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\ufeff', ''))],
      [true, fc.boolean()],
      [[], fc.array(fc.string({ unit: 'grapheme' }))],
    ];
    for (const [last, kind] of kinds) {
      fc.assert(
        fc.property(fc.array(fc.option(kind)), (values) => {
          const text = JSON.stringify([...values, last].map((a) => ({ a })));
          const parsed: unknown = JSON.parse(text);
          expect(rows(decode(text))).toEqual(parsed);
        }),
        { numRuns: 100 },
      );
    }
  });

  test('numbers that JSON.stringify writes are read back the same', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = JSON.stringify(value);
        const [, first] = column(text, '0.5');
        expect(first).toBe(Number(text));
      }),
      { numRuns: 500 },
    );
  });

  test('any 64-bit integer is exact', () => {
    fc.assert(
      fc.property(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), (value) => {
        expect(column(`${value}`)).toEqual(['Int64', value]);
      }),
    );
  });

  test('the chunk boundaries do not matter', { tags: ['slow'] }, () => {
    fc.assert(
      fc.property(jsonRows, fc.integer({ min: 1, max: 20 }), fc.boolean(), (values, chunkBytes, spaced) => {
        const text = JSON.stringify(values, undefined, spaced ? 2 : 0);
        const [whole, cut] = [decode(text), decode(text, { chunkBytes })];
        expect([types(cut), rows(cut)]).toEqual([types(whole), rows(whole)]);
        expect(rows(whole)).toHaveLength(values.length);
      }),
      { numRuns: 300 },
    );
  });
});

test('U+FEFF is kept in names and values, but skipped at the start of the body', () => {
  const { schema } = decode('\ufeff[{"\ufeffa":1,"a":2,"b":{"\ufeff":1,"":2}}]');
  expect(schema.fields.map(({ name }) => name)).toEqual(['\ufeffa', 'a', 'b']);
  expect(String(schema.fields[2].type)).toBe('Struct<{\ufeff:Int64, :Int64}>');
});
