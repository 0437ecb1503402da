import {
  type DataType,
  Field,
  FixedSizeList,
  Int64,
  List,
  Map_,
  Schema,
  Struct,
  tableFromArrays,
  Utf8,
} from 'apache-arrow';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeBody, type DecodedBody } from '../../../test/decode-body.ts';
import { encodeNdjson } from '../../encode/row-formats.ts';
import type { DecodeOptions } from '../../encoding.ts';
import { streamOfBatches } from '../../streams.ts';
import { bytesOf } from '../../testing/bytes-of.ts';
import { type SampleFrame, streamOfSample } from '../../testing/sample-frame.ts';
import { SAMPLE_FRAMES } from '../../testing/sample-frames.ts';
import { decodeJson, decodeNdjson } from './json-decoder.ts';
import { isReadable, targetFromMessage, targetMessage } from './json-column.ts';

function decode(body: string, options: DecodeOptions, chunkBytes = Infinity): DecodedBody {
  const message = targetMessage(options);
  const target = message && targetFromMessage(message);
  const decoder = body.startsWith('[') ? decodeJson : decodeNdjson;
  return decodeBody((input, budget) => decoder(input, budget, { target }), body, { chunkBytes });
}

async function written({ schema, batches }: DecodedBody, quoteLargeNum = false): Promise<string> {
  return Buffer.from(await bytesOf(encodeNdjson(streamOfBatches(schema, batches), { quoteLargeNum }))).toString();
}

/** Reads one value into a column of a type, and returns its JSON, or the error. */
async function read(type: string, value: string): Promise<string> {
  try {
    const text = await written(decode(`[{"c":${value}}]`, { columns: [{ name: 'c', type }] }));
    return text.slice('{"c":'.length, -2);
  } catch (error) {
    return String(error);
  }
}

describe('a value of a declared type', () => {
  test.each([
    ['BOOLEAN', ['true', 'false', 'null']],
    ['BYTE', ['-128', '127', '0', 'null']],
    ['SHORT', ['-32768', '32767']],
    ['INT', ['-2147483648', '2147483647']],
    ['LONG', ['-9223372036854775808', '9223372036854775807', '9007199254740993', '0', '-1']],
    ['ULONG', ['18446744073709551615', '0']],
    ['LONG128', ['99999999999999999999999999999999999999', '-99999999999999999999999999999999999999', '-7', '0']],
    ['FLOAT', ['1.5', '0.1', '16777216', '-0', '3.4028235e+38', '22867038000', '-22867038000']],
    ['DOUBLE', ['0.1', '9007199254740992', '-0', '1e+300', '1e+22', '2.5e-7', '123456789012345680000']],
    ['DECIMAL(10,2)', ['"1.10"', '"-99999999.99"', '"0.00"']],
    ['DECIMAL(38,38)', ['"0.00000000000000000000000000000000000001"']],
    ['STRING', ['"5"', '""', '"é\\n"']],
    ['SYMBOL', ['"x"']],
    [
      'DATE',
      ['"2024-02-29T00:00:00.000Z"', '"0000-01-01T00:00:00.000Z"', '"-000001-12-31T00:00:00.000Z"', '"infinity"'],
    ],
    [
      'TIMESTAMP',
      [
        '"2024-01-02T03:04:05.678901Z"',
        '"1969-12-31T23:59:59.999999Z"',
        '"+010000-01-01T00:00:00.000000Z"',
        '"-infinity"',
      ],
    ],
    ['TIMESTAMP_NS', ['"2024-01-02T03:04:05.678901234Z"', '"1677-09-21T00:12:43.145224192Z"']],
    ['TIME', ['"03:04:05.678901"', '"00:00:00.000000"', '"24:00:00.000000"']],
    ['UUID', ['"01234567-89ab-cdef-0123-456789abcdef"']],
  ])('%s reads what is written for it', async (type, values) => {
    for (const value of values) expect(await read(type, value)).toBe(value);
  });

  test.each([
    ['LONG', '5.0', '5'],
    ['LONG', '1e3', '1000'],
    ['LONG', '120e-1', '12'],
    ['LONG', '"-123"', '-123'],
    ['ULONG', '"18446744073709551615"', '18446744073709551615'],
    ['BYTE', '"7"', '7'],
    ['BYTE', '1e2', '100'],
    ['LONG', '-0', '0'],
    ['LONG128', '"12345678901234567890123"', '12345678901234567890123'],
    ['LONG128', '1e30', '1000000000000000000000000000000'],
    ['DOUBLE', '5', '5'],
    ['DOUBLE', '100000000000000000000', '100000000000000000000'],
    ['DOUBLE', `1${'0'.repeat(100)}`, '1e+100'],
    ['FLOAT', '2.2867038e10', '22867038000'],
    ['FLOAT', `34028235${'0'.repeat(31)}`, '3.4028235e+38'],
    ['DECIMAL(10,2)', '1.1', '"1.10"'],
    ['DECIMAL(10,2)', '7', '"7.00"'],
    ['DECIMAL(10,2)', '"3.1000"', '"3.10"'],
    ['DECIMAL(20,2)', '123456789012345678.25', '"123456789012345678.25"'],
    ['DECIMAL(10,2)', '15e-1', '"1.50"'],
    ['DATE', '"2024-01-02"', '"2024-01-02T00:00:00.000Z"'],
    ['DATE', '"2024-01-02 00:00"', '"2024-01-02T00:00:00.000Z"'],
    ['TIMESTAMP', '"2024-01-02"', '"2024-01-02T00:00:00.000000Z"'],
    ['TIMESTAMP', '"2024-01-02 03:04"', '"2024-01-02T03:04:00.000000Z"'],
    ['TIMESTAMP', '"2024-01-02T03:04:05.5+02:30"', '"2024-01-02T00:34:05.500000Z"'],
    ['TIMESTAMP', '"2024-01-02T03:04:05.123456000z"', '"2024-01-02T03:04:05.123456Z"'],
    ['TIMESTAMP', '"2024-01-02T03:04:05-0800"', '"2024-01-02T11:04:05.000000Z"'],
    ['TIME', '"03:04"', '"03:04:00.000000"'],
    ['UUID', '"01234567-89AB-CDEF-0123-456789ABCDEF"', '"01234567-89ab-cdef-0123-456789abcdef"'],
  ])('%s reads %s as %s', async (type, value, expected) => {
    expect(await read(type, value)).toBe(expected);
  });

  test.each([
    ['BOOLEAN', ['1', '"true"', '[]']],
    ['BYTE', ['128', '-129', '1.5', '"x"', '1e3', '""', 'true']],
    ['INT', ['2147483648', '-2147483649', '9007199254740993', '"2147483648"']],
    [
      'LONG',
      ['2.75', '1e30', '9223372036854775808', '-9223372036854775809', '"1.0"', '"007"', '"+1"', '" 1"', 'false', '{}'],
    ],
    ['ULONG', ['-1', '18446744073709551616', '1e-1']],
    ['LONG128', ['170141183460469231731687303715884105728', '0.5']],
    ['FLOAT', ['16777217', '22867038001', '22867038720', '1e39', '1e-60', '"1.5"']],
    ['DOUBLE', ['9007199254740993', `1${'0'.repeat(99)}1`, '"1"', '123456789012345678901', 'true']],
    ['DECIMAL(10,2)', ['1.005', '"1.005"', '100000000', '"abc"', '".5"', '"1,5"', '1e9', '1e300', '""']],
    ['STRING', ['5', 'true', '["x"]', '1.50']],
    [
      'DATE',
      [
        '"2024-02-30"',
        '"2023-02-29"',
        '"01/02/2024"',
        '"2024-01-02T00:00:01Z"',
        '"2024-1-2"',
        '20240102',
        '"2024-13-01"',
        '"+5881580-07-11"',
        '"today"',
        '""',
      ],
    ],
    [
      'TIMESTAMP',
      [
        '"2024-01-02T03:04:05.1234567Z"',
        '"2024-01-02T25:00:00Z"',
        '"2024-01-02T24:00:00Z"',
        '"2024-01-02T24:00"',
        '"2024-01-02T03:60:00Z"',
        '"2024-01-02T03:04:60Z"',
        '1704164645',
        '"now"',
        '"2024-01-02T03:04:05 UTC"',
        '"2024-01-02T"',
        '"+300000-01-01T00:00:00Z"',
        '"2024-01-02T03:04:05."',
        '"epoch"',
      ],
    ],
    ['TIMESTAMP_NS', ['"2300-01-01T00:00:00Z"', '"2024-01-02T03:04:05.6789012345Z"']],
    ['TIME', ['"24:00:01"', '"3:04"', '"03:04:05Z"', '"03:04:05.1234567"', '5']],
    ['UUID', ['"0123456789abcdef0123456789abcdef"', '"x"', '"01234567-89ab-cdef-0123-456789abcdeg"']],
  ])('%s refuses what does not fit exactly', async (type, values) => {
    for (const value of values) {
      const shown = value.length > 80 ? value.slice(0, 80) : value;
      expect(await read(type, value)).toMatch(/^ServiceError: Row 1, column "c": .* is not exactly an? /);
      if (!/^-?\d/.test(value)) expect(await read(type, value)).toContain(`: ${shown} is not`);
    }
  });

  test('the error names the row and the column, quotes the value, and has a hint', () => {
    const rows = Array.from({ length: 100_000 }, (_, i) => `{"id":${i},"px":${i === 99_998 ? '2.75' : i}}`);
    const columns = [
      { name: 'id', type: 'LONG' },
      { name: 'px', type: 'LONG' },
    ];
    expect(() => decode(rows.join('\n'), { columns })).toThrow(
      expect.objectContaining({
        code: 'invalid_data',
        message: 'Row 99999, column "px": 2.75 is not exactly a LONG.',
        hint: expect.stringContaining('whole number') as string,
      }),
    );
  });
});

test('a timestamp is the instant that Date reads', async () => {
  const millis = fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(millis, { minLength: 1, maxLength: 50 }),
      fc.integer({ min: -719, max: 719 }),
      async (instants, offset) => {
        const zone = `${offset < 0 ? '-' : '+'}${new Date(Math.abs(offset) * 60_000).toISOString().slice(11, 16)}`;
        const texts = instants.map((instant) => new Date(instant + offset * 60_000).toISOString().replace('Z', zone));
        fc.pre(texts.every((text) => /^\d/.test(text)));
        const body = texts.map((at) => JSON.stringify({ at })).join('\n');
        const rows = (await written(decode(body, { columns: [{ name: 'at', type: 'TIMESTAMP' }] })))
          .trimEnd()
          .split('\n');
        const expected = texts.map((text) => `{"at":"${new Date(text).toISOString().replace('Z', '000Z')}"}`);
        expect(rows).toEqual(expected);
      },
    ),
    { numRuns: 50 },
  );
});

describe('declared columns', () => {
  const columns = [{ name: 'b', type: 'LONG' }, { name: 'a' }, { name: 'c', type: 'DATE' }];

  test('are in their order, also if no row has a value', async () => {
    expect(await written(decode('[{"a":1.5},{"b":2,"a":"x"}]', { columns }))).toBe(
      '{"b":null,"a":"1.5","c":null}\n{"b":2,"a":"x","c":null}\n',
    );
    expect(decode('', { columns }).schema.fields.map(({ name }) => name)).toEqual(['b', 'a', 'c']);
  });

  test('are the only keys', () => {
    expect(() => decode('[{"a":1},{"a":2,"d":3}]', { columns })).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/^Row 2: the key "d" is not expected here, at byte \d+/) as string,
        hint: 'Send only these keys: "b", "a", "c".',
      }),
    );
  });

  test('are read from chunks of any size', async () => {
    const body = '[{"b":9007199254740993,"c":"2024-01-02"},{"b":2.0,"c":null},{"b":"3"}]';
    const whole = await written(decode(body, { columns }));
    for (const chunkBytes of [1, 2, 3, 7, 64]) expect(await written(decode(body, { columns }, chunkBytes))).toBe(whole);
  });

  test('an unknown type is invalid_argument', () => {
    expect(() => decode('[]', { columns: [{ name: 'a', type: 'FOO' }] })).toThrow(
      expect.objectContaining({ code: 'invalid_argument' }),
    );
  });
});

describe('rows for a frame', () => {
  /** Arrow allows times beyond a day, and types that a store normalises. */
  const isTime = ({ name }: SampleFrame): boolean => name.startsWith('time32') || name.startsWith('time64');
  const isTyped = ({ schema }: SampleFrame): boolean => schema.fields.every(({ type }) => isReadable(type));
  const samples = SAMPLE_FRAMES.filter((sample) => isTyped(sample) && !isTime(sample));

  test('are tested with most samples', () => {
    expect(samples.length).toBeGreaterThan(SAMPLE_FRAMES.length / 2);
    const decimals = SAMPLE_FRAMES.filter(({ name }) => name.startsWith('decimal'));
    // A store keeps decimals of 32 and of 64 bits as those of 128 bits.
    expect(decimals.filter((sample) => !isTyped(sample)).map(({ name }) => name)).toEqual(['decimal32', 'decimal64']);
  });

  test.each(samples.map((sample) => [sample.name, sample] as const))(
    'are read as its types from what is written for it: %s',
    async (_, sample) => {
      for (const quoteLargeNum of [false, true]) {
        const text = Buffer.from(await bytesOf(encodeNdjson(streamOfSample(sample), { quoteLargeNum }))).toString();
        expect(await written(decode(text, { addedTo: sample.schema }), quoteLargeNum)).toBe(text);
      }
    },
  );

  test('have whole floats as they are written', async () => {
    const powers = Array.from({ length: 128 }, (_, power) => 2 ** power);
    const values = fc.sample(fc.float({ noNaN: true, noDefaultInfinity: true }), { numRuns: 1000, seed: 1 });
    const whole = Float32Array.from([...powers, ...values.map((value) => Math.trunc(value))]);
    const { schema, batches } = tableFromArrays({ whole });
    const text = await written({ schema, batches });
    expect(await written(decode(text, { addedTo: schema }))).toBe(text);
  });

  test('have all columns of the frame, and no others', async () => {
    const addedTo = new Schema([new Field('a', new Int64(), true), new Field('b', new Utf8(), true)]);
    expect(await written(decode('{"b":"x"}\n{}', { addedTo }))).toBe('{"a":null,"b":"x"}\n{"a":null,"b":null}\n');
    expect(() => decode('{"c":1}', { addedTo })).toThrow('Row 1: the key "c" is not expected here');
  });

  test('take any value as text in a STRING, as a put does for a mix', async () => {
    const addedTo = new Schema([new Field('a', new Utf8(), true)]);
    expect(await written(decode('{"a":"x"}\n{"a":1.50}\n{"a":[1]}', { addedTo }))).toBe(
      '{"a":"x"}\n{"a":"1.50"}\n{"a":"[1]"}\n',
    );
  });

  test('have no null in a column that takes none', () => {
    const struct = new Struct([new Field('b', new Int64(), false)]);
    const addedTo = new Schema([new Field('a', new Int64(), false), new Field('s', struct, true)]);
    expect(decode('{"a":1,"s":null}\n{"a":2,"s":{"b":3}}', { addedTo }).batches[0]?.numRows).toBe(2);
    expect(() => decode('{"a":1}\n{}', { addedTo })).toThrow('Row 2, column "a": null is not allowed here.');
    expect(() => decode('{"a":1}\n{"a":1,"s":{}}', { addedTo })).toThrow(
      'Row 2, column "s": null is not allowed here.',
    );
  });

  const item = new Field('item', new Int64(), true);
  const entry = new Struct([new Field('key', new Utf8(), false), new Field('value', new Int64(), true)]);
  test.each<[name: string, type: DataType, good: string, bad: string, message: string]>([
    ['a list', new List(item), '[1,null]', '[1,2.5]', 'Row 3, column "c": 2.5 is not exactly a LONG.'],
    ['a list', new List(item), '[]', '{"a":1}', 'Row 3, column "c": {"a":1} is not exactly an ARRAY.'],
    [
      'a fixed list',
      new FixedSizeList(2, item),
      '[1,null]',
      '[1,"x"]',
      'Row 3, column "c": "x" is not exactly a LONG.',
    ],
    [
      'a fixed list',
      new FixedSizeList(2, item),
      '[1,2]',
      '[1]',
      'Row 3, column "c": the array does not have exactly 2',
    ],
    [
      'a fixed list',
      new FixedSizeList(2, item),
      '[1,2]',
      '[1,2,3]',
      'Row 3, column "c": the array does not have exactly',
    ],
    [
      'a fixed list',
      new FixedSizeList(2, item),
      '[1,2]',
      '[1 2]',
      'Row 3, column "c": expected "," or "]" after a value',
    ],
    ['a struct', new Struct([item]), '{"item":1}', '{"item":"x"}', 'Row 3, column "c": "x" is not exactly a LONG.'],
    ['a struct', new Struct([item]), '{}', '{"other":1}', 'Row 3, column "c": the key "other" is not expected here'],
    [
      'a map',
      new Map_(new Field('entries', entry, false)),
      '[["a",1]]',
      '[["a",1.5]]',
      'Row 3, column "c": 1.5 is not',
    ],
    [
      'a map',
      new Map_(new Field('entries', entry, false)),
      '[]',
      '[["a"]]',
      'Row 3, column "c": expected "," after a key',
    ],
    [
      'a map',
      new Map_(new Field('entries', entry, false)),
      '[]',
      '[[null,1]]',
      'Row 3, column "c": null is not allowed',
    ],
    [
      'a map',
      new Map_(new Field('entries', entry, false)),
      'null',
      '{"a":1}',
      'Row 3, column "c": expected an array of [key,value]',
    ],
  ])('with %s name the row of a value inside it', async (_, type, good, bad, message) => {
    const addedTo = new Schema([new Field('c', type, true)]);
    const rows = (value: string): string => `{"c":${good}}\n{"c":null}\n{"c":${value}}\n`;
    expect(await written(decode(rows(good), { addedTo }))).toBe(
      rows(good).replaceAll('{"c":{}}', '{"c":{"item":null}}'),
    );
    expect(() => decode(rows(bad), { addedTo })).toThrow(message);
  });
});
