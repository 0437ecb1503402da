import {
  type DataType,
  Dictionary,
  Field,
  FixedSizeBinary,
  Int16,
  Int32,
  List,
  Struct,
  Timestamp,
  TimeUnit,
  Utf8,
} from 'apache-arrow';
import { expect, test } from 'vitest';
import { EXTENSION_METADATA_KEY, TYPE_METADATA_KEY, UUID_EXTENSION } from './format.ts';
import { typeName } from './type-names.ts';

const item = (type: DataType): Field => new Field('item', type);

test.each<[DataType, string | undefined, Readonly<Record<string, string>>?]>([
  [new Int16(), 'SHORT'],
  [new Utf8(), 'STRING'],
  [new Utf8(), 'SYMBOL', { [TYPE_METADATA_KEY]: 'SYMBOL' }],
  [new Dictionary(new Utf8(), new Int32()), 'SYMBOL'],
  [new Dictionary(new Int16(), new Int32()), 'SHORT'],
  [new Dictionary(new List(item(new Utf8())), new Int32()), undefined],
  [new Timestamp(TimeUnit.SECOND, null), 'TIMESTAMP'],
  [new Timestamp(TimeUnit.NANOSECOND, null), 'TIMESTAMP_NS'],
  [new FixedSizeBinary(16), 'BINARY'],
  [new FixedSizeBinary(16), 'UUID', { [EXTENSION_METADATA_KEY]: UUID_EXTENSION }],
  [new FixedSizeBinary(8), 'BINARY', { [EXTENSION_METADATA_KEY]: UUID_EXTENSION }],
  [new Struct([item(new Int16())]), 'STRUCT'],
])('%s is %s with the metadata %j', (type, name, metadata = {}) => {
  expect(typeName({ type, metadata: new Map(Object.entries(metadata)) })).toBe(name);
});

test('a type that the server does not support has no name, nor has one with such a part', () => {
  const unknown = { typeId: 14 };
  expect(typeName({ type: unknown, metadata: new Map() })).toBeUndefined();
  const list = { typeId: 12, children: [{ type: unknown, metadata: new Map() }] };
  expect(typeName({ type: list, metadata: new Map() })).toBeUndefined();
});
