import {
  Date_,
  DateUnit,
  DenseUnion,
  Dictionary,
  Duration,
  Field,
  FixedSizeBinary,
  Float16,
  Int32,
  Int64,
  LargeBinary,
  List,
  Message,
  Schema,
  Struct,
  Time,
  Timestamp,
  TimeUnit,
  Uint8,
  Utf8,
} from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { SAMPLE_FRAMES } from '../../testing/sample-frames.ts';
import { decodeSchema } from './read-schema.ts';
import { encodeSchema } from './write-schema.ts';

const field = (type: Field['type'], name = 'x') => new Field(name, type, true);
const shared = new Map([['a', 'b']]);
const texts = new Dictionary(new Utf8(), new Int32(), 7);

const SCHEMAS: readonly (readonly [string, Schema])[] = [
  ...SAMPLE_FRAMES.map(({ name, schema }) => [name, schema] as const),
  ['no columns, with metadata', new Schema([], new Map([['k', 'é']]))],
  ['names that are not ASCII', new Schema(['é', '\u{1F600}', '', 'a\0b'].map((name) => field(new Int32(), name)))],
  ['a long name', new Schema([field(new Int32(), 'é'.repeat(5000))])],
  ['a column that is never null', new Schema([new Field('x', new Int32(), false)])],
  ['a union', new Schema([field(new DenseUnion([3, 5], [field(new Int64(), 'a'), field(new Utf8(), 'b')]))])],
  ['a time of seconds', new Schema([field(new Time(TimeUnit.SECOND, 32))])],
  ['a date of milliseconds', new Schema([field(new Date_(DateUnit.MILLISECOND))])],
  ['a duration', new Schema([field(new Duration(TimeUnit.NANOSECOND))])],
  ['a time zone', new Schema([field(new Timestamp(TimeUnit.MICROSECOND, 'Europe/Zürich'))])],
  ['a dictionary in a list', new Schema([field(new List(field(texts))), field(texts, 'y')])],
  ['an ordered dictionary', new Schema([field(new Dictionary(new LargeBinary(), new Uint8(), 1, true))])],
  ['half floats and bytes', new Schema([field(new Float16()), field(new FixedSizeBinary(5), 'y')])],
  [
    'columns that share metadata',
    new Schema([
      new Field('x', new Struct([new Field('y', new Int32(), false, shared)]), true, shared),
      new Field('z', texts, true, shared),
    ]),
  ],
];

/** What apache-arrow reads from a message. It omits empty names when it writes, and then reads null. */
function readByArrow(message: Uint8Array): unknown {
  const { fields, ...rest } = Message.decode(message).header() as Schema;
  return { ...rest, fields: fields.map((column) => column.clone({ name: column.name ?? '' })) };
}

describe('apache-arrow reads the same from a message as from its own', () => {
  test.each(SCHEMAS)('%s', (_, schema) => {
    expect(readByArrow(encodeSchema(schema))).toEqual(readByArrow(Message.encode(Message.from(schema))));
  });
});

describe('a schema is read as it was written', () => {
  test.each(SCHEMAS)('%s', (_, schema) => {
    const decoded = decodeSchema(encodeSchema(schema));
    expect(decodeSchema(Message.encode(Message.from(schema)))).toEqual(decoded);
    expect(decoded.toString()).toBe(schema.toString());
    expect(encodeSchema(decoded)).toEqual(encodeSchema(decodeSchema(encodeSchema(decoded))));
  });
});
