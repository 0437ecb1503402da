import {
  Bool,
  DateDay,
  Decimal,
  Dictionary,
  Field,
  Float64,
  Int32,
  List,
  Schema,
  TimeMicrosecond,
  TimestampMicrosecond,
  TimestampNanosecond,
  TimestampSecond,
  Uint16,
  Uint64,
  Utf8,
} from 'apache-arrow';
import { expect, test } from 'vitest';
import { withColumnMetadata } from './column-metadata.ts';

test.each([
  [new Bool(), 'BOOLEAN', '1', undefined],
  [new Int32(), 'INTEGER', '10', '0'],
  [new Uint16(), 'USMALLINT', '5', '0'],
  [new Uint64(), 'UBIGINT', '20', '0'],
  [new Float64(), 'DOUBLE', '53', undefined],
  [new Decimal(2, 10, 128), 'DECIMAL', '10', '2'],
  [new Utf8(), 'VARCHAR', undefined, undefined],
  [new Dictionary(new Utf8(), new Int32()), 'VARCHAR', undefined, undefined],
  [new DateDay(), 'DATE', '10', undefined],
  [new TimeMicrosecond(), 'TIME', '15', '6'],
  [new TimestampSecond(), 'TIMESTAMP', '26', '0'],
  [new TimestampMicrosecond(), 'TIMESTAMP', '26', '6'],
  [new TimestampNanosecond(), 'TIMESTAMP_NS', '29', '9'],
  [new TimestampMicrosecond('UTC'), 'TIMESTAMP WITH TIME ZONE', '32', '6'],
  [new List(new Field('item', new Int32(), true)), 'ARRAY', undefined, undefined],
])('%s is %s with precision %s and scale %s', (type, name, precision, scale) => {
  const { fields } = withColumnMetadata(new Schema([new Field('x', type, true, new Map([['own', 'kept']]))]));
  const metadata = fields[0]?.metadata ?? new Map();
  const read = (key: string) => metadata.get(`ARROW:FLIGHT:SQL:${key}`);
  expect([read('TYPE_NAME'), read('PRECISION'), read('SCALE')]).toEqual([name, precision, scale]);
  expect([metadata.get('own'), read('TABLE_NAME')]).toEqual(['kept', undefined]);
});

test('thousands of columns have it, and columns of one type and own metadata share it', () => {
  const fields = Array.from(
    { length: 3000 },
    (_, i) => new Field(`c${i}`, i % 2 === 0 ? new Int32() : new Utf8(), true),
  );
  const own = new Field('own', new Utf8(), true, new Map([['own', 'kept']]));
  const described = withColumnMetadata(new Schema([...fields, own]), 't').fields.map(({ metadata }) => metadata);
  expect(described.map((metadata) => metadata.get('ARROW:FLIGHT:SQL:TYPE_NAME')).slice(-3)).toEqual([
    'INTEGER',
    'VARCHAR',
    'VARCHAR',
  ]);
  expect(new Set(described).size).toBe(3);
  expect(described[3000]?.get('own')).toBe('kept');
});
