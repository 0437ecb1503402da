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
import { describe, expect, test } from 'vitest';
import { ddlOf, literalOf } from './plan.ts';

describe('a value is sent as a literal', () => {
  test.each([
    [null, { null: { null: {} } }],
    [true, { boolean: true }],
    [1, { integer: 1 }],
    [-0, { integer: 0 }],
    [2 ** 31, { long: 2n ** 31n }],
    [1.5, { double: 1.5 }],
    [1e300, { double: 1e300 }],
    [-(2n ** 31n), { integer: -(2 ** 31) }],
    [2n ** 63n - 1n, { long: 2n ** 63n - 1n }],
    [2n ** 63n, { decimal: { value: '9223372036854775808', precision: 38, scale: 0 } }],
    [10n ** 38n - 1n, { decimal: { value: '9'.repeat(38), precision: 38, scale: 0 } }],
    ['text', { string: 'text' }],
    ['half \ud800', { string: 'half \ufffd' }],
    [Uint8Array.of(1, 2), { binary: Uint8Array.of(1, 2) }],
  ])('%s', (value, literal) => {
    expect(literalOf(value)).toEqual({ literal });
  });
});

test.each([10n ** 38n, -(10n ** 38n)])('%s is refused: a decimal of the cluster has at most 38 digits', (value) => {
  expect(() => literalOf(value)).toThrow(`The parameter ${value} has more than 38 digits.`);
});

describe('a text with a type is sent as a literal', () => {
  test.each([
    ['DOUBLE', '1', { double: 1 }],
    ['DOUBLE', 'nan', { double: NaN }],
    ['double', '-inf', { double: -Infinity }],
    ['REAL', '.5e-3', { double: 0.0005 }],
    ['BOOLEAN', 'TRUE', { boolean: true }],
    ['HUGEINT', '170141183460469231731687303715884105727', undefined],
    [
      'HUGEINT',
      '-17014118346046923173168730371588410572',
      { decimal: { value: '-17014118346046923173168730371588410572', precision: 38, scale: 0 } },
    ],
    ['BIGINT', '+7', { integer: 7 }],
    ['DECIMAL(10,2)', '-001.5', { decimal: { value: '-1.50', precision: 10, scale: 2 } }],
    ['DECIMAL(10,2)', '1.500', { decimal: { value: '1.50', precision: 10, scale: 2 } }],
    ['DECIMAL(4)', '12', { decimal: { value: '12', precision: 4, scale: 0 } }],
    ['DECIMAL(10,2)', '1.505', undefined],
    ['DECIMAL(3,2)', '12', undefined],
    ['DECIMAL(10,2)', '.', undefined],
    ['VARCHAR', 'x', { string: 'x' }],
    ['DATE', '1969-12-31', { date: -1 }],
    ['DATE', '2024-02-29', { date: 19_782 }],
    ['DATE', '2023-02-29', undefined],
    ['DATE', 'today', undefined],
    ['TIMESTAMP', '1970-01-01', { timestampNtz: 0n }],
    ['TIMESTAMP', '2024-01-02T03:04:05.678901Z', { timestampNtz: 1_704_164_645_678_901n }],
    ['TIMESTAMP_NS', '1970-01-01 00:00:00.000001000', { timestampNtz: 1n }],
    ['TIMESTAMP_NS', '1970-01-01 00:00:00.000000001', undefined],
    ['TIMESTAMPTZ', '1970-01-01 01:30:00+01:30', { timestamp: 0n }],
    ['TIMESTAMP WITH TIME ZONE', '1969-12-31 23:00:00-01', { timestamp: 0n }],
    ['TIMESTAMP', '1970-01-01 24:00:00', undefined],
  ])('%s %s', (type, text, literal) => {
    if (literal === undefined) {
      expect(() => literalOf({ type, text })).toThrow(`is not a value of the type ${type}`);
    } else expect(literalOf({ type, text })).toEqual({ literal });
  });

  test('unless the type has none', () => {
    expect(() => literalOf({ type: 'INTERVAL', text: '1 day' })).toThrow(
      'A parameter of the type "INTERVAL" cannot be sent',
    );
  });
});

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
