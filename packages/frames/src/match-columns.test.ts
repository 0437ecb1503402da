import { type DataType, Decimal, Field, Int32, Int64, List, Schema, Struct } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { matchColumns } from './match-columns.ts';

const listOf = (type: DataType): DataType => new List(new Field('item', type, true));
const structOf = (type: DataType): DataType => new Struct([new Field('d', type, true)]);

/** A column that is converted beside one of a type, so that rows are not taken as they are. */
function schemaOf(id: DataType, type: DataType): Schema {
  return new Schema([new Field('id', id, true), new Field('v', type, true)]);
}

describe('decimals inside of other values', () => {
  const money = new Decimal(2, 9, 128);

  test.each([
    ['another scale in a list', listOf(money), listOf(new Decimal(3, 9, 128))],
    ['another precision in a struct', structOf(money), structOf(new Decimal(2, 10, 128))],
    ['more bits in a list of structs', listOf(structOf(money)), listOf(structOf(new Decimal(2, 9, 256)))],
  ])('are not taken for others: %s', (_name, frame, added) => {
    expect(() => matchColumns(schemaOf(new Int64(), frame), schemaOf(new Int32(), added))).toThrow(
      expect.objectContaining({ code: 'invalid_data', message: expect.stringContaining('"v"') }),
    );
  });

  test.each([
    ['the same', listOf(money), listOf(new Decimal(2, 9, 128))],
    ['narrower ones, which are kept as these', listOf(money), listOf(new Decimal(2, 9, 32))],
  ])('are taken where they are %s', (_name, frame, added) => {
    expect(matchColumns(schemaOf(new Int32(), frame), schemaOf(new Int32(), added)).isPlain).toBe(true);
  });
});
