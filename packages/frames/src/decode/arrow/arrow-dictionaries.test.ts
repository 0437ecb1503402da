import {
  Binary,
  BinaryView,
  Bool,
  type DataType,
  DateDay,
  Dictionary,
  DurationSecond,
  Field,
  Float32,
  Int32,
  Int8,
  IntervalDayTime,
  IntervalMonthDayNano,
  LargeBinary,
  LargeUtf8,
  List,
  Map_,
  Schema,
  Struct,
  TimeNanosecond,
  TimestampMicrosecond,
  Uint64,
  Utf8,
  Utf8View,
  Vector,
} from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { decodeBody, plainRows, refusalOf } from '../../../test/decode-body.ts';
import { type StreamPart, writeParts } from '../../../test/write-arrow.ts';
import { createRecordBatch } from '../../columns/record-batch.ts';
import * as build from '../../testing/column-builders.ts';
import { decodeArrow } from './arrow-decoder.ts';

const LONG_TEXT = 'a text that is longer than twelve bytes';

/** Four values of each type that dictionary values can have. */
const TYPES: [name: string, type: DataType, build: build.BuildColumn<never>, values: readonly unknown[]][] = [
  ['utf8', new Utf8(), build.bytes, ['a', 'bb', LONG_TEXT, 'é']],
  ['large utf8', new LargeUtf8(), build.largeBytes, ['a', 'bb', LONG_TEXT, 'é']],
  ['utf8 view', new Utf8View(), build.views, [LONG_TEXT, 'bb', `${LONG_TEXT} too`, `and ${LONG_TEXT}`]],
  ['binary', new Binary(), build.bytes, [[0], [], [255, 254], [1, 2, 3]]],
  ['large binary', new LargeBinary(), build.largeBytes, [[0], [], [255, 254], [1, 2, 3]]],
  ['binary view', new BinaryView(), build.views, [LONG_TEXT, [], [255, 254], `and ${LONG_TEXT}`]],
  ['bool', new Bool(), build.bits, [true, false, false, true]],
  ['int8', new Int8(), build.numbers, [1, -1, 127, -128]],
  ['uint64', new Uint64(), build.longs, [1n, 0n, 2n ** 64n - 1n, 7n]],
  ['float32', new Float32(), build.numbers, [1.5, -0.25, 0, 3]],
  ['date', new DateDay(), build.numbers, [0, 1, -1, 20_000]],
  ['timestamp', new TimestampMicrosecond(), build.longs, [0n, 1n, -1n, 10n ** 15n]],
  ['time', new TimeNanosecond(), build.longs, [0n, 1n, 86_399_999_999_999n, 5n]],
  ['duration', new DurationSecond(), build.longs, [0n, 1n, -1n, 5n]],
  [
    'interval of two words',
    new IntervalDayTime(),
    build.intervals,
    [
      [1, 2],
      [3, 4],
      [5, 6],
      [-7, -8],
    ],
  ],
  [
    'interval of four words',
    new IntervalMonthDayNano(),
    build.intervals,
    [
      [1, 2, 3, 4],
      [5, 6, 7, 8],
      [0, 0, 0, 0],
      [-1, -1, -1, -1],
    ],
  ],
];

function schemaOf(type: DataType): Schema {
  return new Schema([new Field('a', type, true)]);
}

/** A batch of indices into a dictionary that is written separately. */
function indexBatch(schema: Schema, indices: readonly (number | null)[]): StreamPart {
  const [{ type }] = schema.fields;
  const data = build.numbers(new Int8(), indices).clone(type);
  Object.assign(data, { dictionary: new Vector([build.nulls(type.dictionary, [])]) });
  return { kind: 'batch', batch: createRecordBatch(schema, indices.length, [data]) };
}

/** The values of the only column. */
function valuesOf(bytes: Uint8Array): unknown[] {
  return plainRows(decodeBody(decodeArrow, bytes).batches).map((row) => row.a);
}

describe.each(TYPES)('a dictionary of %s', (_name, type, builder, values) => {
  const schema = schemaOf(new Dictionary(type, new Int8(), 3));
  const dictionary = (of: readonly unknown[], isDelta: boolean): StreamPart => {
    return { kind: 'dictionary', id: 3, data: builder(type, of as never), isDelta };
  };
  const plain = (indices: readonly number[]) => {
    const column = createRecordBatch(schemaOf(type), indices.length, [
      builder(type, indices.map((index) => values[index] ?? null) as never),
    ]);
    return plainRows([column]).map((row) => row.a);
  };

  test.each([undefined, 'lz4', 'zstd'] as const)('grows by deltas and is replaced, compression %s', (compression) => {
    const parts = [
      dictionary(values.slice(0, 1), false),
      indexBatch(schema, [0, null, 0]),
      dictionary([values[1], null], true),
      indexBatch(schema, [1, 0, 2]),
      dictionary(values.slice(2), true),
      indexBatch(schema, [0, 1, 3, 4]),
      dictionary(values.slice(3), false),
      indexBatch(schema, [0]),
    ];
    expect(valuesOf(writeParts(schema, parts, { compression }))).toEqual(plain([0, 9, 0, 1, 0, 9, 0, 1, 2, 3, 3]));
  });

  test('with an index out of range is refused', () => {
    const parts = [dictionary(values, false), indexBatch(schema, [3, 4])];
    expect(refusalOf(() => valuesOf(writeParts(schema, parts))).message).toBe(
      'Column "a" of record batch 1: row 1 is value 4 of a dictionary that has 4 values.',
    );
  });
});

describe('nested dictionaries', () => {
  const inner = new Dictionary(new Utf8(), new Int8(), 5);
  const words = build.dictionaryOf(build.bytes);
  const pair = new Struct([new Field('key', new Utf8(), false), new Field('value', inner, true)]);

  test.each([
    ['a list', new List(new Field('item', inner, true)), build.listsOf(words), [['x', 'y'], null, [], [null, 'x']]],
    [
      'a struct',
      new Struct([new Field('s', inner, true)]),
      build.structsOf(words as never),
      [['x'], null, [null], ['y']],
    ],
    [
      'a map',
      new Map_(new Field('entries', pair, false) as never),
      build.mapsOf(build.bytes, words),
      [[['k', 'x']], null, [], [['l', null]]],
    ],
  ] as [string, DataType, build.BuildColumn<never>, unknown[]][])(
    'of %s are found, and their indices checked',
    (_name, type, builder, values) => {
      const schema = schemaOf(type);
      const batch = createRecordBatch(schema, values.length, [builder(type, values as never)]);
      const dictionary = (of: string[]): StreamPart => ({
        kind: 'dictionary',
        id: 5,
        data: build.bytes(new Utf8(), of),
        isDelta: false,
      });
      const write = (of: string[]) => writeParts(schema, [dictionary(of), { kind: 'batch', batch }]);
      expect(valuesOf(write(['x', 'y']))).toEqual(plainRows([batch]).map((row) => row.a));
      expect(refusalOf(() => valuesOf(write([]))).message).toMatch(
        /row \d is value 0 of a dictionary that has 0 values/,
      );
    },
  );

  test('a dictionary of texts with indices as values is refused as a dictionary of dictionaries', () => {
    const type = new Dictionary(new Utf8(), new Int32(), 0);
    const data = build.numbers(new Int32(), [0, 1, 0]);
    for (const column of [type, new List(new Field('item', type, true))]) {
      const bytes = writeParts(new Schema([new Field('x', column, true)]), [
        { kind: 'dictionary', id: 0, data, isDelta: false },
      ]);
      expect(refusalOf(() => decodeBody(decodeArrow, bytes))).toMatchObject({
        code: 'invalid_data',
        message: 'Column "x" has the Arrow type dictionary of dictionaries, which this server does not support.',
        hint: 'Cast it to a dictionary of plain values.',
      });
    }
  });

  test('a dictionary that no column uses is refused', () => {
    const schema = schemaOf(new Int32());
    const part: StreamPart = { kind: 'dictionary', id: 9, data: build.bytes(new Utf8(), ['x']), isDelta: false };
    expect(refusalOf(() => valuesOf(writeParts(schema, [part]))).message).toBe(
      'The Arrow data has a dictionary 9 that no column uses.',
    );
  });
});
