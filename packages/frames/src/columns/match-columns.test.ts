import {
  type DataType,
  Decimal,
  Field,
  FixedSizeList,
  Float,
  Float64,
  Int,
  Int16,
  Int32,
  Int64,
  List,
  makeVector,
  Map_,
  Precision,
  Schema,
  Struct,
  Timestamp,
  TimestampMicrosecond,
  TimeUnit,
  Uint8,
  Utf8,
} from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { columnInfo } from '../column-types.ts';
import { createRecordBatch } from './record-batch.ts';
import { matchColumns } from './match-columns.ts';

const listOf = (type: DataType): DataType => new List(new Field('item', type, true));
const ARRAY_WITH = 'ARRAY of TIMESTAMP with the zone UTC';
const ARRAY_WITHOUT = 'ARRAY of TIMESTAMP without a zone';
const mapOf = (type: DataType): DataType =>
  new Map_(
    new Field(
      'entries',
      new Struct<{ key: Utf8; value: DataType }>([new Field('key', new Utf8(), false), new Field('value', type, true)]),
      false,
    ),
  );
const structOf = (type: DataType): DataType => new Struct([new Field('d', type, true)]);

/** A schema with a column that must be converted, so that the match is not plain. */
function schemaOf(id: DataType, type: DataType): Schema {
  return new Schema([new Field('id', id, true), new Field('v', type, true)]);
}

test.each([
  ['integers', new Int32(), new Int(true, 32)],
  ['floats', new Float64(), new Float(Precision.DOUBLE)],
])('%s match whether their class is general or not, also inside of other values', (_name, frame, added) => {
  for (const nest of [listOf, mapOf, structOf, (type: DataType) => type]) {
    expect(matchColumns(schemaOf(new Int32(), nest(frame)), schemaOf(new Int32(), nest(added))).isPlain).toBe(true);
  }
});

describe('decimals inside of other values', () => {
  const money = new Decimal(2, 9, 128);

  test.each([
    ['another scale in a list', listOf(money), listOf(new Decimal(3, 9, 128))],
    ['another precision in a struct', structOf(money), structOf(new Decimal(2, 10, 128))],
    ['more bits in a list of structs', listOf(structOf(money)), listOf(structOf(new Decimal(2, 9, 256)))],
  ])('do not match: %s', (_name, frame, added) => {
    expect(() => matchColumns(schemaOf(new Int64(), frame), schemaOf(new Int32(), added))).toThrow(
      expect.objectContaining({ code: 'invalid_data', message: expect.stringContaining('"v"') }),
    );
  });

  test.each([
    ['the same', listOf(money), listOf(new Decimal(2, 9, 128))],
    ['narrower, which are stored the same way', listOf(money), listOf(new Decimal(2, 9, 32))],
  ])('match if they are %s', (_name, frame, added) => {
    expect(matchColumns(schemaOf(new Int32(), frame), schemaOf(new Int32(), added)).isPlain).toBe(true);
  });
});

describe('timestamps', () => {
  const micros = (zone?: string): DataType => new Timestamp(TimeUnit.MICROSECOND, zone);
  const nanos = (zone?: string): DataType => new Timestamp(TimeUnit.NANOSECOND, zone);

  /** Returns the values of a null and a value after they were appended to a column of another type. */
  function appended(frame: Timestamp, from: Timestamp, value: bigint): unknown[] {
    const [column] = makeVector({
      type: from,
      length: 2,
      nullCount: 1,
      nullBitmap: Uint8Array.of(2),
      data: BigInt64Array.of(5n, value),
    }).data;
    const [schema, added] = [frame, from].map((type) => new Schema([new Field('v', type, true)]));
    const batch = createRecordBatch(added, 2, [column]);
    const [data] = matchColumns(schema, added).conform(batch).data.children;
    const values = data.values as BigInt64Array;
    return [...values].map((kept, row) => (data.getValid(row) ? kept : null));
  }

  test.each([
    ['of the class for their unit', new TimestampMicrosecond('UTC'), micros('UTC'), true],
    ['of another zone, which are the same moments', micros('UTC'), micros('Europe/Paris'), false],
    ['inside of a list', listOf(new TimestampMicrosecond()), listOf(micros()), true],
    ['inside of a map', mapOf(new TimestampMicrosecond()), mapOf(micros()), true],
    ['of another zone, inside of a map', mapOf(micros('UTC')), mapOf(micros('Asia/Tokyo')), false],
  ])('match if they are %s', (_name, frame, added, isPlain) => {
    expect(matchColumns(schemaOf(new Int32(), frame), schemaOf(new Int32(), added)).isPlain).toBe(isPlain);
  });

  test.each([
    ['a column', micros('UTC'), micros(), 'TIMESTAMP with the zone UTC', 'TIMESTAMP without a zone'],
    ['nanoseconds', nanos(), nanos('+01:00'), 'TIMESTAMP_NS without a zone', 'TIMESTAMP_NS with the zone +01:00'],
    [
      'another unit',
      micros('Europe/Paris'),
      nanos(),
      'TIMESTAMP with the zone Europe/Paris',
      'TIMESTAMP_NS without a zone',
    ],
    ['list items', listOf(micros('UTC')), listOf(micros()), ARRAY_WITH, ARRAY_WITHOUT],
  ])(
    'with a zone do not match ones without, and the message shows the zones: %s',
    (_name, frame, added, wants, has) => {
      expect(() => matchColumns(schemaOf(new Int64(), frame), schemaOf(new Int64(), added))).toThrow(
        expect.objectContaining({
          code: 'invalid_data',
          message: `Column "v" is ${wants} in the frame, but ${has} in the rows to append.`,
        }),
      );
    },
  );

  test.each([
    ['milliseconds to microseconds', TimeUnit.MICROSECOND, TimeUnit.MILLISECOND, -2n, -2000n],
    ['seconds to nanoseconds', TimeUnit.NANOSECOND, TimeUnit.SECOND, 9_223_372_036n, 9_223_372_036_000_000_000n],
    ['nanoseconds to microseconds', TimeUnit.MICROSECOND, TimeUnit.NANOSECOND, -7000n, -7n],
  ])('are converted between units if each stays the same instant: %s', (_name, to, from, value, kept) => {
    for (const zone of [undefined, 'UTC'])
      expect(appended(new Timestamp(to, zone), new Timestamp(from, zone), value)).toEqual([null, kept]);
  });

  test.each([
    ['a fraction of a microsecond', TimeUnit.MICROSECOND, TimeUnit.NANOSECOND, -7001n, '-7001 ns'],
    ['a year that nanoseconds cannot reach', TimeUnit.NANOSECOND, TimeUnit.SECOND, 9_223_372_037n, '9223372037 s'],
  ])('are refused with %s', (_name, to, from, value, shown) => {
    expect(() => appended(new Timestamp(to), new Timestamp(from), value)).toThrow(
      expect.objectContaining({
        code: 'invalid_data',
        message: `The value ${shown} of column "v" in the rows to append does not fit: the frame's column is ${columnInfo(new Field('v', new Timestamp(to))).type}.`,
      }),
    );
  });
});

const item = (type: DataType, nullable = true, name = 'item'): Field => new Field(name, type, nullable);
const long = item(new Int64());

describe('nested values match', () => {
  test.each([
    ['if only the name of the list items differs', new List(long), new List(item(new Int64(), true, 'element'))],
    ['if no item is null', new List(long), new List(item(new Int64(), false))],
    ['of a fixed length', new FixedSizeList(2, long), new FixedSizeList(2, item(new Int64(), false, 'x'))],
    ['if no field is null', new Struct([long]), new Struct([item(new Int64(), false)])],
    [
      'deep inside',
      listOf(new Struct([item(new List(long))])),
      listOf(new Struct([item(new List(item(new Int64(), false, 'element')))])),
    ],
  ])('%s', (_name, frame, added) => {
    const { schema, isPlain } = matchColumns(schemaOf(new Int32(), frame), schemaOf(new Int32(), added));
    expect(isPlain).toBe(true);
    expect(schema).toEqual(schemaOf(new Int32(), frame));
  });
});

describe('a refusal describes a column that', () => {
  test.each([
    ['has another type', new Int64(), new Decimal(2, 9, 128), 'LONG', 'DECIMAL(9,2)'],
    [
      'has more bits',
      new Decimal(2, 9, 128),
      new Decimal(2, 9, 256),
      'DECIMAL(9,2) (Decimal128)',
      'DECIMAL(9,2) (Decimal256)',
    ],
    [
      'has other items',
      listOf(new Decimal(2, 9, 128)),
      listOf(new Decimal(3, 9, 128)),
      'ARRAY of DECIMAL(9,2)',
      'ARRAY of DECIMAL(9,3)',
    ],
    [
      'has items of the same name',
      listOf(new Int16()),
      listOf(new Uint8()),
      'ARRAY of SHORT (Int16)',
      'ARRAY of SHORT (Uint8)',
    ],
    [
      'has nullable items where none may be null',
      new List(item(new Int64(), false, 'element')),
      new List(long),
      'ARRAY of LONG (Int64 not null)',
      'ARRAY of LONG (Int64)',
    ],
    ['has a fixed length', new List(long), new FixedSizeList(2, long), 'ARRAY (List)', 'ARRAY (FixedSizeList)'],
    [
      'has another field deep inside',
      listOf(structOf(new Int64())),
      listOf(structOf(new Utf8())),
      'ARRAY of STRUCT with "d" LONG',
      'ARRAY of STRUCT with "d" STRING',
    ],
    ['has other fields', structOf(new Int64()), new Struct([long]), 'STRUCT with "d"', 'STRUCT with "item"'],
    ['has more fields', structOf(new Int64()), new Struct([long, long]), 'STRUCT of 1 field', 'STRUCT of 2 fields'],
  ])('%s', (_name, frame, added, wants, has) => {
    const message = `Column "v" is ${wants} in the frame, but ${has} in the rows to append.`;
    expect(() => matchColumns(schemaOf(new Int32(), frame), schemaOf(new Int32(), added))).toThrow(message);
  });
});
