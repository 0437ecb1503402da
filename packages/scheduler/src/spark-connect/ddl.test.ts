import {
  Binary,
  Bool,
  type DataType,
  DateDay,
  Decimal,
  Field,
  FixedSizeBinary,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  List,
  Map_,
  Schema,
  Struct,
  TimeMicrosecond,
  Timestamp,
  TimeUnit,
  Uint16,
  Uint32,
  Uint64,
  Uint8,
  Utf8,
} from 'apache-arrow';
import { expect, test } from 'vitest';
import { ddlOf } from './ddl.ts';

const field = (name: string, type: DataType): Field => new Field(name, type, true);
const pair = new Struct([field('key', new Utf8()), field('value', new List(field('item', new Int32())))]);

test.each<[DataType, string]>([
  [new Bool(), 'BOOLEAN'],
  [new Int8(), 'TINYINT'],
  [new Int16(), 'SMALLINT'],
  [new Int32(), 'INT'],
  [new Int64(), 'BIGINT'],
  [new Uint8(), 'SMALLINT'],
  [new Uint16(), 'INT'],
  [new Uint32(), 'BIGINT'],
  [new Uint64(), 'DECIMAL(20, 0)'],
  [new Float32(), 'FLOAT'],
  [new Float64(), 'DOUBLE'],
  [new Decimal(10, 38, 128), 'DECIMAL(38, 10)'],
  [new Utf8(), 'STRING'],
  [new Binary(), 'BINARY'],
  [new FixedSizeBinary(16), 'BINARY'],
  [new DateDay(), 'DATE'],
  [new TimeMicrosecond(), 'BIGINT'],
  [new Timestamp(TimeUnit.MICROSECOND), 'TIMESTAMP_NTZ'],
  [new Timestamp(TimeUnit.MICROSECOND, 'Europe/Berlin'), 'TIMESTAMP'],
  [new Timestamp(TimeUnit.NANOSECOND), 'BIGINT'],
  [new List(field('item', new Int32())), 'ARRAY<INT>'],
  [new Struct([field('a`b', new Int8()), field('c d', new Utf8())]), 'STRUCT<`a``b`: TINYINT, `c d`: STRING>'],
  [new Map_(new Field('entries', pair, false)), 'MAP<STRING, ARRAY<INT>>'],
])('%s is declared as %s', (type, ddl) => {
  expect(ddlOf(new Schema([field('c', type)]))).toBe(`\`c\` ${ddl}`);
});

test('names are quoted, whatever they contain', () => {
  const schema = new Schema(['', 'a`', 'x, y INT', 'é😀'].map((name) => field(name, new Int32())));
  expect(ddlOf(schema)).toBe('`` INT, `a``` INT, `x, y INT` INT, `é😀` INT');
});
