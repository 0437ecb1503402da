import { EXTENSION_METADATA_KEY, TYPE_METADATA_KEY, UUID_EXTENSION } from '@svc/arrow';
import {
  Bool,
  type DataType,
  DateDay,
  Decimal,
  Dictionary,
  DurationSecond,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Int32,
  Int8,
  IntervalYearMonth,
  List,
  Map_,
  Message,
  Schema,
  SparseUnion,
  Struct,
  Time,
  TimestampSecond,
  TimeUnit,
  Utf8,
} from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { decodeBody, refusalOf } from '../../../test/decode-body.ts';
import { writeArrow } from '../../../test/write-arrow.ts';
import { decodeArrow } from './arrow-decoder.ts';

function schemaStream(schema: Schema): Buffer {
  const message = Message.encode(Message.from(schema));
  return Buffer.concat([new Uint8Array(new Uint32Array([0xffffffff, message.length]).buffer), message]);
}

function decodeSchema(...fields: Field[]): Schema {
  return decodeBody(decodeArrow, schemaStream(new Schema(fields))).schema;
}

function refusal(type: DataType, metadata: Record<string, string> = {}) {
  return refusalOf(() => decodeSchema(new Field('x', type, true, new Map(Object.entries(metadata)))));
}

/** The schema with the number of its only type of that number replaced. */
function withTypeNumber(field: Field, from: number, to: number): Buffer {
  const bytes = schemaStream(new Schema([field]));
  const place = [...bytes.keys()].find((at) => {
    const copy = Buffer.from(bytes);
    copy[at] = to;
    return bytes[at] === from && /Arrow type/.test(messageOf(copy));
  });
  bytes[place ?? 0] = to;
  return bytes;
}

function messageOf(bytes: Buffer): string {
  try {
    decodeBody(decodeArrow, bytes);
    return '';
  } catch (error) {
    return String(error);
  }
}

/** The type with an invalid unit. */
function withUnit(type: DataType): DataType {
  return Object.assign(type, { unit: 4 });
}

describe('a malformed type is invalid_data', () => {
  test.each([
    ['a decimal without digits', new Decimal(0, 0), 'a decimal of 128 bits has 1 to 38 digits, not 0'],
    ['a decimal of 39 digits in 128 bits', new Decimal(0, 39), 'a decimal of 128 bits has 1 to 38 digits, not 39'],
    ['a decimal of 10 digits in 32 bits', new Decimal(0, 10, 32), 'a decimal of 32 bits has 1 to 9 digits, not 10'],
    ['a decimal of 19 digits in 64 bits', new Decimal(0, 19, 64), 'a decimal of 64 bits has 1 to 18 digits, not 19'],
    ['a decimal of 77 digits', new Decimal(0, 77, 256), 'a decimal of 256 bits has 1 to 76 digits, not 77'],
    ['a decimal of 48 bits', new Decimal(0, 5, 48), 'a decimal has 48 bits'],
    ['a decimal of a scale of 77', new Decimal(77, 5), 'a decimal has a scale of -76 to 76, not 77'],
    ['a decimal of a scale of -77', new Decimal(-77, 5), 'a decimal has a scale of -76 to 76, not -77'],
    ['a time of microseconds in 32 bits', new Time(TimeUnit.MICROSECOND, 32), 'a time of 32 bits has the unit 2'],
    ['a time of seconds in 64 bits', new Time(TimeUnit.SECOND, 64), 'a time of 64 bits has the unit 0'],
    ['a date of an unknown unit', withUnit(new DateDay()), 'a date of an unknown unit'],
    ['a duration of an unknown unit', withUnit(new DurationSecond()), 'a timestamp or duration of an unknown unit'],
    ['a timestamp of an unknown unit', withUnit(new TimestampSecond()), 'a timestamp or duration of an unknown unit'],
    ['an interval of an unknown unit', withUnit(new IntervalYearMonth()), 'an interval of an unknown unit'],
    ['bytes of a negative length', new FixedSizeBinary(-1), 'a fixed-size binary has -1 bytes'],
    [
      'lists of a negative length',
      new FixedSizeList(-1, new Field('item', new Int8())),
      'a fixed-size list has -1 items',
    ],
  ])('%s', (_name, type, fault) => {
    const message = `Column "x" has a malformed Arrow type: ${fault}.`;
    expect(refusal(type)).toMatchObject({
      code: 'invalid_data',
      message,
      hint: expect.stringMatching(/^(Write|Give|Cast) /),
    });
    const inner = new Field('inner', type, true);
    expect(refusal(new Struct([new Field('list', new List(inner), true)])).message).toBe(message);
  });

  test.each([
    ['of 15 bytes', new FixedSizeBinary(15), 'of 15'],
    ['of text', new Utf8(), 'STRING'],
    ['in a dictionary of 15 bytes', new Dictionary(new FixedSizeBinary(15), new Int32()), 'of 15'],
    ['in a dictionary of text', new Dictionary(new Utf8(), new Int32()), 'STRING'],
  ])('a UUID %s', (_name, type, found) => {
    expect(refusal(type, { [EXTENSION_METADATA_KEY]: UUID_EXTENSION })).toMatchObject({
      message: `Column "x" has a malformed Arrow type: a UUID is a fixed-size binary of 16 bytes, not ${found}.`,
      hint: 'Cast the column to fixed-size binary of 16 bytes, or remove "arrow.uuid" from its metadata.',
    });
  });

  test('a dictionary of such a type', () => {
    expect(refusal(new Dictionary(new Decimal(0, 39), new Int32())).message).toBe(
      'Column "x" has a malformed Arrow type: a decimal of 128 bits has 1 to 38 digits, not 39.',
    );
  });
});

describe('unsupported types are refused with a hint on what to cast them to', () => {
  test('a union', () => {
    const type = new SparseUnion([0], [new Field('a', new Int32(), true)]);
    expect(refusal(type)).toMatchObject({
      code: 'invalid_data',
      message: 'Column "x" has the Arrow type union, which this server does not support.',
      hint: 'Cast it to a struct with a field for each of its types, or to utf8.',
    });
    expect(refusal(new List(new Field('item', type, true))).message).toBe(
      'Column "x" contains the Arrow type union, which this server does not support.',
    );
  });

  test.each([
    [22, 'the Arrow type run-end encoded', 'the type of its values'],
    [25, 'the Arrow type list view', 'list'],
    [26, 'the Arrow type large list view', 'large list'],
    [99, 'the unknown Arrow type 99', 'a type such as int64, float64 or utf8'],
  ])('type number %i', (number, name, cast) => {
    // apache-arrow does not write these types: replace the number of a bool (6).
    const bytes = withTypeNumber(new Field('x', new Bool(), true), 6, number);
    expect(refusalOf(() => decodeBody(decodeArrow, bytes))).toMatchObject({
      code: 'invalid_data',
      message: `Column "x" has ${name}, which this server does not support.`,
      hint: `Cast it to ${cast}.`,
    });
  });

  test('fixed-size binary of no length', () => {
    const type = new FixedSizeBinary(0);
    const message = 'Column "x" has the Arrow type fixed-size binary of 0 bytes, which this server does not support.';
    expect(refusal(type)).toMatchObject({ code: 'invalid_data', message, hint: 'Cast it to binary.' });
    expect(refusal(new Dictionary(type, new Int32())).message).toBe(message);
    expect(refusal(new List(new Field('item', type, true))).message).toBe(message.replace('has', 'contains'));
  });

  test('a dictionary of nested values', () => {
    const type = new Dictionary(new Struct([new Field('a', new Int32(), true)]), new Int32());
    expect(refusal(type).message).toMatch(
      /^Column "x" has the Arrow type Dictionary<.*, which this server does not support\.$/,
    );
  });
});

describe('a schema is kept', () => {
  test('the metadata of fields, also of nested ones, and of the schema', () => {
    const metadata = new Map([
      [TYPE_METADATA_KEY, 'LONG128'],
      ['é', ''],
    ]);
    const inner = new Field('inner', new Decimal(0, 38), false, metadata);
    const schema = new Schema([new Field('x', new Struct([inner]), true, metadata)], new Map([['top', 'level']]));
    const decoded = decodeBody(decodeArrow, schemaStream(schema)).schema;
    expect(decoded.metadata).toEqual(new Map([['top', 'level']]));
    expect(decoded.fields[0].metadata).toEqual(metadata);
    expect(decoded.fields[0].type.children[0].metadata).toEqual(metadata);
  });

  test('without what Flight SQL says of the columns of a result', () => {
    const metadata = new Map([
      ['ARROW:FLIGHT:SQL:TABLE_NAME', 'other'],
      ['own', 'kept'],
    ]);
    expect(decodeSchema(new Field('x', new Int32(), true, metadata)).fields[0].metadata).toEqual(
      new Map([['own', 'kept']]),
    );
  });

  test.each(['stream', 'file'] as const)('U+FEFF at the start of a text, in a %s', (kind) => {
    const metadata = new Map([
      ['\ufeffk', '\ufeffv'],
      ['k', 'v'],
    ]);
    const zoned = new Field('\ufeff', new TimestampSecond('\ufeffUTC'), true);
    const fields = [
      new Field('\ufeffa', new Int32(), true, metadata),
      new Field('a', new Struct([new Field('\ufeffb', new Int32(), true), new Field('b', new Int32(), true)]), true),
      new Field('', new List(zoned), true),
    ];
    const bytes = writeArrow(new Schema(fields, metadata), [], { kind });
    const { schema } = decodeBody(decodeArrow, bytes);
    expect(schema.fields.map(({ name }) => name)).toEqual(['\ufeffa', 'a', '']);
    expect(schema.fields[1].type.children.map(({ name }: Field) => name)).toEqual(['\ufeffb', 'b']);
    expect([schema.metadata, schema.fields[0].metadata]).toEqual([metadata, metadata]);
    const [item] = schema.fields[2].type.children;
    expect([item.name, item.type.timezone]).toEqual(['\ufeff', '\ufeffUTC']);
  });

  test('but the entries and keys of a map are never nullable', () => {
    const pair = new Struct([new Field('k', new Utf8(), true), new Field('v', new Int32(), true)]);
    const [field] = decodeSchema(new Field('x', new Map_(new Field('entries', pair, true)), true)).fields;
    const [entries] = field.type.children;
    expect([entries.nullable, entries.type.children.map((child: Field) => child.nullable)]).toEqual([
      false,
      [false, true],
    ]);
  });

  test('a map that does not consist of pairs is refused', () => {
    const fields = ['a', 'b', 'c'].map((name) => new Field(name, new Int32(), true));
    for (const entries of [new Struct(fields), new Struct(fields.slice(1, 2)), new Int32()]) {
      const bytes = schemaStream(
        new Schema([new Field('x', new Map_(new Field<never>('entries', entries as never)), true)]),
      );
      expect(refusalOf(() => decodeBody(decodeArrow, bytes)).code).toBe('invalid_data');
    }
  });
});
