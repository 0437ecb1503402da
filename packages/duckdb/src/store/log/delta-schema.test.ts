import {
  Binary,
  Bool,
  type DataType,
  DateDay,
  DateMillisecond,
  Decimal,
  Dictionary,
  DurationMicrosecond,
  Field,
  FixedSizeBinary,
  Float16,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  IntervalYearMonth,
  List,
  Null,
  Schema,
  Struct,
  TimeMicrosecond,
  TimestampMicrosecond,
  TimestampMillisecond,
  TimestampNanosecond,
  Uint16,
  Uint32,
  Uint64,
  Uint8,
  Utf8,
} from 'apache-arrow';
import { expect, test } from 'vitest';
import { mapType } from '../../types/stored-types.ts';
import { deltaSchema } from './delta-schema.ts';

const item = (type: DataType): Field => new Field('item', type, true);
function map(key: DataType, value: DataType): DataType {
  const fields = [new Field('key', key), new Field('value', value, true)];
  return mapType(new Field('entries', new Struct(fields), false), false);
}

function columnsOf(fields: readonly Field[]): readonly (readonly [string, unknown])[] {
  return deltaSchema(new Schema([...fields])).fields.map(({ name, type }) => [name, type]);
}

test.each<[string, DataType, unknown]>([
  ['BOOL', new Bool(), 'boolean'],
  ['INT8', new Int8(), 'byte'],
  ['INT16', new Int16(), 'short'],
  ['INT32', new Int32(), 'integer'],
  ['INT64', new Int64(), 'long'],
  ['UINT8', new Uint8(), 'short'],
  ['UINT16', new Uint16(), 'integer'],
  ['UINT32', new Uint32(), 'long'],
  ['FLOAT16', new Float16(), 'float'],
  ['FLOAT32', new Float32(), 'float'],
  ['FLOAT64', new Float64(), 'double'],
  ['text', new Utf8(), 'string'],
  ['text in a dictionary', new Dictionary(new Utf8(), new Int32()), 'string'],
  ['nulls', new Null(), 'string'],
  ['bytes', new Binary(), 'binary'],
  ['bytes of a fixed length', new FixedSizeBinary(4), 'binary'],
  ['DECIMAL', new Decimal(2, 10, 128), 'decimal(10,2)'],
  ['days', new DateDay(), 'date'],
  ['dates in milliseconds', new DateMillisecond(), 'date'],
  ['moments', new TimestampMicrosecond('Europe/Berlin'), 'timestamp'],
  ['moments in milliseconds', new TimestampMillisecond('UTC'), 'timestamp'],
  ['timestamps without a zone', new TimestampMicrosecond(), 'timestamp_ntz'],
  ['durations', new DurationMicrosecond(), 'long'],
  ['a list', new List(item(new Int64())), { type: 'array', elementType: 'long', containsNull: true }],
  [
    'a map',
    map(new Utf8(), new Int64()),
    { type: 'map', keyType: 'string', valueType: 'long', valueContainsNull: true },
  ],
  [
    'a struct',
    new Struct([item(new Bool())]),
    { type: 'struct', fields: [{ name: 'item', type: 'boolean', nullable: true, metadata: {} }] },
  ],
])('%s: readers of Delta Lake see %s', (_, type, expected) => {
  expect(columnsOf([new Field('a', type, true)])).toEqual([['a', expected]]);
});

test.each<[string, DataType]>([
  ['times', new TimeMicrosecond()],
  ['nanoseconds', new TimestampNanosecond()],
  ['numbers of 64 bits without a sign', new Uint64()],
  ['a list of nanoseconds', new List(item(new TimestampNanosecond()))],
  ['a struct with a time', new Struct([item(new Int64()), new Field('time', new TimeMicrosecond(), true)])],
  ['a map of unsigned numbers', map(new Utf8(), new Uint64())],
])('%s are left out', (_, type) => {
  expect(columnsOf([new Field('a', type, true), new Field('b', new Int64(), true)])).toEqual([['b', 'long']]);
});

test('UUIDs are left out', () => {
  const metadata = new Map([['ARROW:extension:name', 'arrow.uuid']]);
  expect(columnsOf([new Field('a', new FixedSizeBinary(16), true, metadata)])).toEqual([]);
});

test('intervals are a struct, as in the file', () => {
  const [[, type] = []] = columnsOf([new Field('a', new IntervalYearMonth(), true)]);
  expect(type).toMatchObject({ type: 'struct', fields: [{ name: 'months' }, { name: 'days' }, { name: 'nanos' }] });
});

test('the names are those in the file', () => {
  const fields = ['a', 'A', 'file_row_number'].map((name) => new Field(name, new Int64(), true));
  expect(columnsOf(fields).map(([name]) => name)).toEqual(['a', 'A_1', 'file_row_number_1']);
});

test('a frame without columns has the one of its file', () => {
  expect(columnsOf([])).toEqual([['column', 'boolean']]);
});
