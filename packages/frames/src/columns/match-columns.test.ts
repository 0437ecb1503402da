import {
  type DataType,
  Decimal,
  Field,
  FixedSizeList,
  Int16,
  Int32,
  Int64,
  List,
  Schema,
  Struct,
  Timestamp,
  TimestampMicrosecond,
  TimeUnit,
  Uint8,
  Utf8,
} from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { matchColumns } from './match-columns.ts';

const listOf = (type: DataType): DataType => new List(new Field('item', type, true));
const structOf = (type: DataType): DataType => new Struct([new Field('d', type, true)]);

/** A schema with a column that must be converted, so that the match is not plain. */
function schemaOf(id: DataType, type: DataType): Schema {
  return new Schema([new Field('id', id, true), new Field('v', type, true)]);
}

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

  test.each([
    ['of the class for their unit', new TimestampMicrosecond('UTC'), micros('UTC'), true],
    ['of another zone, which are the same moments', micros('UTC'), micros('Europe/Paris'), false],
    ['inside of a list', listOf(new TimestampMicrosecond()), listOf(micros()), true],
  ])('match if they are %s', (_name, frame, added, isPlain) => {
    expect(matchColumns(schemaOf(new Int32(), frame), schemaOf(new Int32(), added)).isPlain).toBe(isPlain);
  });

  test('with a zone do not match ones without, and the message names the zone', () => {
    expect(() => matchColumns(schemaOf(new Int64(), micros('UTC')), schemaOf(new Int64(), micros()))).toThrow(
      expect.objectContaining({
        code: 'invalid_data',
        message:
          'Column "v" is TIMESTAMP (Timestamp<MICROSECOND, UTC>) in the frame, but TIMESTAMP (Timestamp<MICROSECOND>) in the rows to append.',
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
