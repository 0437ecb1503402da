import {
  Bool,
  DateDay,
  DateMillisecond,
  type DataType,
  Dictionary,
  Field,
  FixedSizeList,
  Float16,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  LargeUtf8,
  List,
  makeData,
  Null,
  RecordBatch,
  Schema,
  Struct,
  TimestampMicrosecond,
  TimestampMillisecond,
  TimestampNanosecond,
  TimestampSecond,
  Uint16,
  Uint32,
  Uint64,
  Uint8,
  Utf8,
  Utf8View,
  type Vector,
  vectorFromArray,
} from 'apache-arrow';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type FrameStream, streamOfBatches } from '../streams.ts';
import { bytesOf } from '../testing/bytes-of.ts';
import { longFrame } from '../testing/sample-frames.ts';
import { encodeJsonTable, type JsonTableOptions } from './row-formats.ts';

async function encode(stream: FrameStream, options: Partial<JsonTableOptions> = {}): Promise<string> {
  const bytes = await bytesOf(encodeJsonTable(stream, { query: 'q', ...options }));
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

function frameOf(columns: Record<string, Vector>): FrameStream {
  const fields = Object.entries(columns).map(([name, vector]) => new Field(name, vector.type, true));
  const schema = new Schema(fields);
  const children = Object.values(columns).map((vector) => vector.data[0]);
  const data = makeData({ type: new Struct(fields), length: children[0].length, nullCount: 0, children });
  return streamOfBatches(schema, [new RecordBatch(schema, data)]);
}

/** A column created directly from its buffer, because builders round or refuse some values. */
function rawColumn(type: DataType, data: unknown, length: number): Vector {
  return { type, data: [makeData({ type, length, nullCount: 0, data } as never)] } as unknown as Vector;
}

async function cells(column: Vector, options: Partial<JsonTableOptions> = {}): Promise<[type: string, cells: string]> {
  const text = await encode(frameOf({ c: column }), options);
  const [, type, rows] = /"type":"([^"]*)"\}\],"dataset":\[(.*)\],"count":/s.exec(text) ?? [];
  return [type, rows];
}

const utf8 = (text: string): Vector => vectorFromArray([text], new Utf8());
const us = (value: bigint): Vector => rawColumn(new TimestampMicrosecond(), new BigInt64Array([value]), 1);
const ns = (value: bigint): Vector => rawColumn(new TimestampNanosecond(), new BigInt64Array([value]), 1);
const s = (value: bigint): Vector => rawColumn(new TimestampSecond(), new BigInt64Array([value]), 1);
const ms = (value: bigint): Vector => rawColumn(new TimestampMillisecond(), new BigInt64Array([value]), 1);
const MAX = 2n ** 63n - 1n;

describe('the JSON table', () => {
  test('has the keys of the contract, in order', async () => {
    expect(await encode(longFrame(2, { start: 1 }), { query: 'handle:t' })).toBe(
      '{"query":"handle:t","columns":[{"name":"id","type":"LONG"}],"dataset":[[1],[2]],"count":2}',
    );
  });

  test('of no rows has columns and an empty dataset', async () => {
    expect(await encode(longFrame(0))).toBe(
      '{"query":"q","columns":[{"name":"id","type":"LONG"}],"dataset":[],"count":0}',
    );
  });

  test('puts timings last, evaluated after the rows', async () => {
    expect(await encode(longFrame(1), { timings: () => ({ open: 5 }) })).toMatch(/"count":1,"timings":\{"open":5\}\}$/);
  });

  test('escapes the query and column names', async () => {
    const text = await encode(frameOf({ 'a"\n\\': vectorFromArray([1], new Int32()) }), { query: '"\u2028' });
    expect(JSON.parse(text)).toMatchObject({ query: '"\u2028', columns: [{ name: 'a"\n\\', type: 'INT' }] });
  });

  test('of many batches and chunks is one valid document', { tags: ['slow'] }, async () => {
    const parsed = JSON.parse(await encode(longFrame(300_000, { batchRows: 7_001 })));
    expect(parsed.count).toBe(300_000);
    expect(parsed.dataset).toHaveLength(300_000);
    expect(parsed.dataset[299_999]).toEqual([299_999]);
  });

  test('contains texts far larger than a chunk', async () => {
    const texts = ['x'.repeat(3_000_000), '"'.repeat(700_000), '\u0001'.repeat(300_000), 'é'.repeat(400_000)];
    const parsed = JSON.parse(await encode(frameOf({ t: vectorFromArray(texts, new Utf8()) })));
    expect(parsed.dataset.flat()).toEqual(texts);
  });

  test('contains items whose numbers follow a text at the end of a chunk', async () => {
    const names = Array.from({ length: 50 }, (_, i) => `n${i}`);
    const numbers = Object.fromEntries(names.map((name) => [name, -1 / 3]));
    const type = new Struct([
      new Field('text', new Utf8(), true),
      ...names.map((name) => new Field(name, new Float64(), true)),
    ]);
    const lists = Array.from({ length: 150 }, (_, i) => [{ text: 'x'.repeat((1009 * i) % 30_000), ...numbers }]);
    const column = vectorFromArray(lists, new List(new Field('item', type, true)));
    expect(JSON.parse(await encode(frameOf({ c: column }))).dataset.flat()).toEqual(lists);
  });
});

describe('a cell', () => {
  test.each<[name: string, column: Vector, type: string, cells: string]>([
    ['booleans', vectorFromArray([true, false, null], new Bool()), 'BOOLEAN', '[true],[false],[null]'],
    ['int8', vectorFromArray([-128, 127, null], new Int8()), 'BYTE', '[-128],[127],[null]'],
    ['int16', vectorFromArray([-32768, 32767], new Int16()), 'SHORT', '[-32768],[32767]'],
    ['uint8', vectorFromArray([0, 255], new Uint8()), 'SHORT', '[0],[255]'],
    ['int32', vectorFromArray([-2147483648, 2147483647], new Int32()), 'INT', '[-2147483648],[2147483647]'],
    ['uint16', vectorFromArray([65535], new Uint16()), 'INT', '[65535]'],
    ['uint32', vectorFromArray([4294967295], new Uint32()), 'LONG', '[4294967295]'],
    [
      'int64 past 2^53',
      vectorFromArray([2n ** 53n + 1n, -MAX - 1n, MAX], new Int64()),
      'LONG',
      `[9007199254740993],[-9223372036854775808],[${MAX}]`,
    ],
    ['uint64', vectorFromArray([2n ** 64n - 1n, 0n, null], new Uint64()), 'ULONG', '[18446744073709551615],[0],[null]'],
    [
      'float64',
      vectorFromArray([0.1, 1, -2.5, 1e21, 5e-324, 1234567.123456, 0.30000000000000004], new Float64()),
      'DOUBLE',
      '[0.1],[1],[-2.5],[1e+21],[5e-324],[1234567.123456],[0.30000000000000004]',
    ],
    ['negative zero', vectorFromArray([-0], new Float64()), 'DOUBLE', '[-0]'],
    [
      'not a number and the infinities',
      vectorFromArray([Number.NaN, Infinity, -Infinity], new Float64()),
      'DOUBLE',
      '[null],[null],[null]',
    ],
    [
      'float32',
      vectorFromArray([0.1, 16777216, 3.4028234663852886e38, 1e-45, 1.17549435e-38], new Float32()),
      'FLOAT',
      '[0.1],[16777216],[3.4028235e+38],[1e-45],[1.1754944e-38]',
    ],
    [
      'float16',
      rawColumn(new Float16(), new Uint16Array([0x3c00, 0xc000, 0x7c00, 0x0001]), 4),
      'FLOAT',
      '[1],[-2],[null],[5.9604645e-8]',
    ],
    ['nulls of the null type', vectorFromArray([null, null], new Null()), 'STRING', '[null],[null]'],
    ['strings', vectorFromArray(['a', '', null, 'é€😀'], new Utf8()), 'STRING', '["a"],[""],[null],["é€😀"]'],
    ['large strings', vectorFromArray(['a', 'bc'], new LargeUtf8()), 'STRING', '["a"],["bc"]'],
    [
      'string views',
      vectorFromArray(['short', 'longer than twelve bytes', null], new Utf8View()),
      'STRING',
      '["short"],["longer than twelve bytes"],[null]',
    ],
    [
      'characters that need an escape',
      utf8('"\\/\b\f\n\r\t\u0000\u001f\u007f'),
      'STRING',
      String.raw`["\"\\/\b\f\n\r\t\u0000\u001f` + '\u007f"]',
    ],
    [
      'dictionaries',
      vectorFromArray(['x', 'y', null, 'x'], new Dictionary(new Utf8(), new Int32())),
      'SYMBOL',
      '["x"],["y"],[null],["x"]',
    ],
    [
      'dates',
      rawColumn(new DateDay(), new Int32Array([0, 19724, -1, -719528, 2932897, -719529]), 6),
      'DATE',
      '["1970-01-01T00:00:00.000Z"],["2024-01-02T00:00:00.000Z"],["1969-12-31T00:00:00.000Z"],["0000-01-01T00:00:00.000Z"],["+010000-01-01T00:00:00.000Z"],["-000001-12-31T00:00:00.000Z"]',
    ],
    [
      'endless dates',
      rawColumn(new DateDay(), new Int32Array([2147483647, -2147483647]), 2),
      'DATE',
      '["infinity"],["-infinity"]',
    ],
    [
      'dates in ms',
      rawColumn(new DateMillisecond(), new BigInt64Array([86_400_000n, -1n]), 2),
      'DATE',
      '["1970-01-02T00:00:00.000Z"],["1969-12-31T00:00:00.000Z"]',
    ],
    ['timestamps in s', s(1704164645n), 'TIMESTAMP', '["2024-01-02T03:04:05.000000Z"]'],
    ['the latest second', s(MAX - 1n), 'TIMESTAMP', '["+292277026596-12-04T15:30:06.000000Z"]'],
    ['timestamps in ms', ms(1704164645678n), 'TIMESTAMP', '["2024-01-02T03:04:05.678000Z"]'],
    ['timestamps before 1970', ms(-1n), 'TIMESTAMP', '["1969-12-31T23:59:59.999000Z"]'],
    ['the latest millisecond', ms(MAX - 1n), 'TIMESTAMP', '["+292278994-08-17T07:12:55.806000Z"]'],
    ['timestamps in µs', us(1704164645678901n), 'TIMESTAMP', '["2024-01-02T03:04:05.678901Z"]'],
    ['the earliest microsecond', us(-MAX - 1n), 'TIMESTAMP', '["-290308-12-21T19:59:05.224192Z"]'],
    ['infinite timestamps', us(MAX), 'TIMESTAMP', '["infinity"]'],
    ['negative infinite timestamps', us(-MAX), 'TIMESTAMP', '["-infinity"]'],
    ['timestamps in ns', ns(1704164645678901234n), 'TIMESTAMP_NS', '["2024-01-02T03:04:05.678901234Z"]'],
    ['nanoseconds before 1970', ns(-1n), 'TIMESTAMP_NS', '["1969-12-31T23:59:59.999999999Z"]'],
    ['the latest nanosecond', ns(MAX - 1n), 'TIMESTAMP_NS', '["2262-04-11T23:47:16.854775806Z"]'],
    [
      'lists',
      vectorFromArray([[1, null], [], null], new List(new Field('item', new Int32(), true))),
      'ARRAY',
      '[[1,null]],[[]],[null]',
    ],
    [
      'fixed lists',
      vectorFromArray(
        [
          [1, 2],
          [3, 4],
        ],
        new FixedSizeList(2, new Field('item', new Int32(), true)),
      ),
      'ARRAY',
      '[[1,2]],[[3,4]]',
    ],
    [
      'lists of strings',
      vectorFromArray([['a,', ','], ['"']], new List(new Field('item', new Utf8(), true))),
      'ARRAY',
      String.raw`[["a,",","]],[["\""]]`,
    ],
    [
      'structs',
      vectorFromArray(
        [{ a: 1, 'b"': 'x' }, null, { a: null, 'b"': null }],
        new Struct([new Field('a', new Int32(), true), new Field('b"', new Utf8(), true)]),
      ),
      'STRUCT',
      String.raw`[{"a":1,"b\"":"x"}],[null],[{"a":null,"b\"":null}]`,
    ],
  ])('%s', async (_name, column, type, expected) => {
    expect(await cells(column)).toEqual([type, expected]);
  });

  test.each<[name: string, column: Vector, cells: string]>([
    ['int64', vectorFromArray([1n, null], new Int64()), '["1"],[null]'],
    ['uint64', vectorFromArray([2n ** 64n - 1n], new Uint64()), '["18446744073709551615"]'],
    ['uint32, a LONG too', vectorFromArray([7], new Uint32()), '["7"]'],
    ['not int32', vectorFromArray([7], new Int32()), '[7]'],
    ['int64 in a list', vectorFromArray([[1n]], new List(new Field('item', new Int64(), true))), '[["1"]]'],
  ])('with quoteLargeNum: %s', async (_name, column, expected) => {
    expect((await cells(column, { quoteLargeNum: true }))[1]).toBe(expected);
  });

  test.each<[name: string, bytes: number[], expected: string]>([
    ['a lone continuation byte', [0x80], '\ufffd'],
    ['a sequence truncated at the end', [0xe2, 0x82], '\ufffd'],
    ['a sequence truncated in the middle', [0xe2, 0x82, 0x41], '\ufffdA'],
    ['an overlong form', [0xc0, 0xaf], '\ufffd\ufffd'],
    ['a surrogate', [0xed, 0xa0, 0x80], '\ufffd\ufffd\ufffd'],
    ['beyond the last code point', [0xf4, 0x90, 0x80, 0x80], '\ufffd\ufffd\ufffd\ufffd'],
    ['a byte that never occurs', [0x41, 0xff, 0x42], 'A\ufffdB'],
  ])('of bytes that are not UTF-8 has U+FFFD: %s', async (_name, bytes, expected) => {
    const data = makeData({
      type: new Utf8(),
      length: 1,
      nullCount: 0,
      valueOffsets: new Int32Array([0, bytes.length]),
      data: Uint8Array.from(bytes),
    });
    const column = { type: new Utf8(), data: [data] } as unknown as Vector;
    expect((await cells(column))[1]).toBe(`["${expected}"]`);
  });

  test('of a sliced batch is correct, for every kind of buffer', async () => {
    const { schema, batches } = frameOf({
      flag: vectorFromArray([true, false, null, true, false, true, null, false, true, true, false], new Bool()),
      text: vectorFromArray(['a', null, 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k'], new Utf8()),
      list: vectorFromArray(
        [[0], [1], [2], [3], null, [5], [6], [7], [8], [9], [10]],
        new List(new Field('item', new Int32(), true)),
      ),
      row: vectorFromArray(
        Array.from({ length: 11 }, (_, i) => ({ i })),
        new Struct([new Field('i', new Int32(), true)]),
      ),
    });
    for await (const batch of batches) {
      const sliced = streamOfBatches(schema, [batch.slice(9, 11), batch.slice(1, 5)]);
      expect(JSON.parse(await encode(sliced)).dataset).toEqual([
        [true, 'j', [9], { i: 9 }],
        [false, 'k', [10], { i: 10 }],
        [false, null, [1], { i: 1 }],
        [null, 'c', [2], { i: 2 }],
        [true, 'd', [3], { i: 3 }],
        [false, 'e', null, { i: 4 }],
      ]);
    }
  });
});

describe('random values read back the same', () => {
  test.each<[name: string, values: fc.Arbitrary<unknown>, type: DataType]>([
    ['doubles', fc.double({ noNaN: true, noDefaultInfinity: true }), new Float64()],
    ['doubles with few decimals', fc.integer({ min: -1e9, max: 1e9 }).map((n) => n / 1000), new Float64()],
    ['strings', fc.string({ unit: 'binary', maxLength: 40 }), new Utf8()],
    ['32-bit floats', fc.float({ noNaN: true, noDefaultInfinity: true }), new Float32()],
  ])('%s', async (_name, values, type) => {
    const read = type instanceof Float32 ? Math.fround : (value: unknown) => value;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(values), { minLength: 1, maxLength: 50 }), async (column) => {
        const parsed = JSON.parse(await encode(frameOf({ c: vectorFromArray(column, type) }))) as {
          dataset: never[][];
        };
        expect(parsed.dataset.flat().map((value) => (value === null ? null : read(value)))).toEqual(column);
      }),
      { numRuns: 300 },
    );
  });

  test('64-bit integers keep every digit', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), { minLength: 1 }), async (column) => {
        const [, rows] = await cells(vectorFromArray(column, new Int64()));
        expect(rows).toBe(column.map((value) => `[${value}]`).join(','));
      }),
    );
  });

  test('timestamps equal those of Date', async () => {
    const range = { min: new Date(-1e14), max: new Date(1e14), noInvalidDate: true };
    await fc.assert(
      fc.asyncProperty(fc.date(range), async (date) => {
        const expected = date.toISOString().replace('Z', '000Z');
        expect(await cells(us(BigInt(date.getTime()) * 1000n))).toEqual(['TIMESTAMP', `["${expected}"]`]);
      }),
      { numRuns: 500 },
    );
  });
});
