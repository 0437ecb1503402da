import {
  Data,
  type DataType,
  DateMillisecond,
  Decimal,
  Dictionary,
  DurationSecond,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Int32,
  IntervalDayTime,
  IntervalMonthDayNano,
  IntervalYearMonth,
  List,
  makeData,
  Map_,
  Message,
  RecordBatch,
  Schema,
  Struct,
  tableFromArrays,
  TimeMillisecond,
  TimeNanosecond,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { arrowRefusal, decodeArrowBody, streamOf } from '../../../test/decode-body.ts';

/** A stream with one batch of one column. */
function columnStream(data: Data, nullable = true): Uint8Array {
  const schema = new Schema([new Field('a', data.type, nullable)]);
  const batch = new RecordBatch(
    schema,
    makeData({ type: new Struct(schema.fields), length: data.length, children: [data] }),
  );
  return streamOf(batch);
}

function bits(byte: number): Uint8Array {
  return Uint8Array.of(byte, 0, 0, 0, 0, 0, 0, 0);
}

function utf8(offsets: number[]) {
  const valueOffsets = Int32Array.from(offsets);
  return makeData({
    type: new Utf8(),
    length: offsets.length - 1,
    nullCount: 0,
    valueOffsets,
    data: new Uint8Array(8),
  });
}

function nestedLists(depth: number): Uint8Array {
  let field: Field<DataType> = new Field('item', new Int32());
  for (let i = 0; i < depth; i++) field = new Field('item', new List(field));
  return schemaStream([field]);
}

function schemaStream(fields: Field[]): Uint8Array {
  const message = Message.encode(Message.from(new Schema(fields)));
  const head = new Uint8Array(new Uint32Array([0xffffffff, message.length]).buffer);
  return Buffer.concat([head, message]);
}

/** Replaces the last occurrence of a run of 32-bit numbers. */
function patched(bytes: Uint8Array, from: number[], to: number[]): Uint8Array {
  const copy = Buffer.from(bytes);
  copy.set(Buffer.from(Int32Array.from(to).buffer), copy.lastIndexOf(Buffer.from(Int32Array.from(from).buffer)));
  return copy;
}

describe('inconsistent columns are invalid_data', () => {
  test('offsets that decrease', () => {
    expect(arrowRefusal(columnStream(utf8([0, 3, 1]))).message).toMatch(
      /^Column "a" of record batch 1: offset 1 of row 2 is/,
    );
  });

  test('offsets beyond the data', () => {
    expect(arrowRefusal(patched(columnStream(utf8([0, 2, 4])), [0, 2, 4], [0, 2, 4000])).message).toMatch(
      /offset 4000 of row 2 is/,
    );
  });

  test('a negative offset', () => {
    expect(arrowRefusal(patched(columnStream(utf8([0, 2, 4])), [0, 2, 4], [-1, 2, 4])).message).toMatch(
      /offset -1 of row 0 is/,
    );
  });

  test('an index outside its dictionary', () => {
    const type = new Dictionary(new Utf8(), new Int32(), 1);
    const dictionary = vectorFromArray(['x', 'y'], new Utf8());
    const of = (indices: number[], nullBitmap?: Uint8Array) =>
      columnStream(
        makeData({
          type,
          length: indices.length,
          nullCount: nullBitmap ? 1 : 0,
          nullBitmap,
          data: Int32Array.from(indices),
          dictionary,
        }),
      );
    expect(arrowRefusal(of([0, 2])).message).toBe(
      'Column "a" of record batch 1: row 1 is value 2 of a dictionary that has 2 values.',
    );
    expect(arrowRefusal(of([-1, 0])).message).toMatch(/row 0 is value -1/);
    expect(decodeArrowBody(of([0, 99], bits(1))).rows).toEqual([{ a: 'x' }, { a: null }]);
  });

  test('a null count that differs from its bitmap', () => {
    const data = makeData({
      type: new Int32(),
      length: 8,
      nullCount: 3,
      nullBitmap: bits(0b11111110),
      data: new Int32Array(8),
    });
    expect(arrowRefusal(columnStream(data)).message).toBe(
      'Column "a" of record batch 1: its null count is 3, but 1 value is null.',
    );
  });

  test('nulls in a column that is not nullable', () => {
    const data = makeData({
      type: new Int32(),
      length: 8,
      nullCount: 1,
      nullBitmap: bits(0b11111110),
      data: new Int32Array(8),
    });
    expect(arrowRefusal(columnStream(data, false)).message).toMatch(
      /1 of its values are null, but the schema does not allow nulls/,
    );
  });

  test('more rows than the maximum', () => {
    const schema = new Schema([]);
    const data = makeData({ type: new Struct([]), length: 2 ** 31, nullCount: 0, children: [] });
    expect(arrowRefusal(streamOf(new RecordBatch(schema, data))).message).toBe(
      'The record batch 1 has 2147483648 rows; the maximum is 2147483647.',
    );
  });

  test('two columns with one name', () => {
    const fields = [new Field('x', new Int32()), new Field('x', new Utf8())];
    expect(arrowRefusal(schemaStream(fields))).toMatchObject({
      code: 'invalid_data',
      message: 'Two columns have the name "x".',
    });
  });

  test('two fields of a struct with one name', () => {
    const fields = [new Field('x', new Int32()), new Field('x', new Utf8())];
    expect(arrowRefusal(schemaStream([new Field('s', new Struct(fields))])).message).toBe(
      'Two fields of "s" have the name "x".',
    );
  });

  test('a type that the server does not support', () => {
    expect(
      arrowRefusal(
        schemaStream([new Field('x', new Dictionary(new List(new Field('item', new Int32())), new Int32()))]),
      ).message,
    ).toMatch(/^Column "x" has the Arrow type Dictionary/);
  });

  test('more than 10 000 columns', () => {
    const fields = Array.from({ length: 10_001 }, (_, i) => new Field(`c${i}`, new Int32()));
    expect(arrowRefusal(schemaStream(fields)).message).toBe(
      'The frame has more than 10000 columns, including nested ones.',
    );
    expect(decodeArrowBody(schemaStream(fields.slice(1))).schema.fields).toHaveLength(10_000);
  });

  test('lists more than 32 deep', () => {
    expect(decodeArrowBody(nestedLists(32)).schema.fields).toHaveLength(1);
    expect(arrowRefusal(nestedLists(33)).message).toBe('The columns are nested more than 32 deep.');
  });

  test('a frame that exceeds its limit is out_of_memory', () => {
    const bytes = streamOf(...tableFromArrays({ a: new Float64Array(1000) }).batches);
    expect(arrowRefusal(bytes, { maxBytes: 7999 }).code).toBe('out_of_memory');
    expect(decodeArrowBody(bytes, { maxBytes: 8000 }).rows).toHaveLength(1000);
  });
});

function bytesOfRows(type: DataType, rows: number, bytes: number): Data {
  return new Data(type, 0, rows, 0, [undefined, new type.ArrayType(bytes / type.ArrayType.BYTES_PER_ELEMENT)]);
}

describe('fixed-width columns are refused if a row is missing', () => {
  test.each([
    ['decimal of 32 bits', new Decimal(0, 9, 32), 4],
    ['decimal of 64 bits', new Decimal(0, 18, 64), 8],
    ['decimal of 128 bits', new Decimal(0, 38), 16],
    ['decimal of 256 bits', new Decimal(0, 76, 256), 32],
    ['time of 32 bits', new TimeMillisecond(), 4],
    ['time of 64 bits', new TimeNanosecond(), 8],
    ['duration', new DurationSecond(), 8],
    ['interval of months', new IntervalYearMonth(), 4],
    ['interval of days and milliseconds', new IntervalDayTime(), 8],
    ['interval of months, days and nanoseconds', new IntervalMonthDayNano(), 16],
    ['fixed-size binary', new FixedSizeBinary(7), 7],
  ])('%s', (_name, type, width) => {
    const rows = 32;
    expect(decodeArrowBody(columnStream(bytesOfRows(type, rows, rows * width))).batches[0].numRows).toBe(rows);
    const cut = columnStream(bytesOfRows(type, rows, (rows - 8) * width));
    expect(arrowRefusal(cut).message).toBe(
      `Column "a" of record batch 1: a buffer has ${(rows - 8) * width} bytes, but its rows need ${rows * width}.`,
    );
  });
});

describe('a date64 value that is not a whole day is invalid_data', () => {
  const DAY = 86_400_000n;
  const dates = (values: readonly bigint[], nullBitmap?: Uint8Array) =>
    makeData({
      type: new DateMillisecond(),
      length: values.length,
      nullCount: nullBitmap ? 1 : 0,
      nullBitmap,
      data: BigInt64Array.from(values),
    });
  const NOT_A_DAY = 'Column "a" of record batch 1: row 1 has the date64 value -1, which is not a whole day.';

  test('in a column', () => {
    expect(arrowRefusal(columnStream(dates([DAY, -1n])))).toMatchObject({
      code: 'invalid_data',
      message: NOT_A_DAY,
      hint: expect.stringContaining('Cast the column to date32'),
    });
  });

  test('but not below a null', () => {
    expect(decodeArrowBody(columnStream(dates([DAY, -1n], bits(1)))).rows[1]).toEqual({ a: null });
  });

  test('in a list', () => {
    const items = (nullBitmap?: Uint8Array) =>
      makeData({
        type: new List(new Field('item', new DateMillisecond())),
        length: 2,
        nullCount: nullBitmap ? 1 : 0,
        nullBitmap,
        valueOffsets: Int32Array.of(0, 1, 2),
        child: dates([0n, -1n]),
      });
    expect(arrowRefusal(columnStream(items())).message).toBe(NOT_A_DAY);
    expect(decodeArrowBody(columnStream(items(bits(1)))).rows[1]).toEqual({ a: null });
  });

  test('in a dictionary', () => {
    const data = makeData({
      type: new Dictionary(new DateMillisecond(), new Int32(), 0),
      length: 1,
      nullCount: 0,
      data: Int32Array.of(0),
      dictionary: new Vector([dates([DAY, -1n])]),
    });
    expect(arrowRefusal(columnStream(data)).message).toBe(NOT_A_DAY.replace('record batch 1', 'dictionary 0'));
  });

  test.each([DAY, -DAY, 0n])('%d is a day', (millis) => {
    expect(decodeArrowBody(columnStream(dates([millis]))).rows).toHaveLength(1);
  });
});

describe('inconsistent nested columns are invalid_data', () => {
  const item = makeData({
    type: new Int32(),
    length: 4,
    nullCount: 1,
    nullBitmap: bits(0b1101),
    data: Int32Array.of(1, 2, 3, 4),
  });
  const field = new Field('item', new Int32(), false);
  const lists = (nullBitmap?: Uint8Array) =>
    makeData({
      type: new List(field),
      length: 3,
      nullCount: nullBitmap ? 1 : 0,
      nullBitmap,
      valueOffsets: Int32Array.of(0, 1, 2, 4),
      child: item,
    });

  test('a null item that the schema does not allow', () => {
    expect(arrowRefusal(columnStream(lists())).message).toBe(
      'Column "a" of record batch 1: row 1 contains a null in "item", but the schema does not allow nulls there.',
    );
  });

  test('but a null item of a null list is fine', () => {
    expect(decodeArrowBody(columnStream(lists(bits(0b101)))).rows).toEqual([{ a: [1] }, { a: null }, { a: [3, 4] }]);
  });

  test('a null field of a struct that the schema does not allow', () => {
    const structs = (nullBitmap?: Uint8Array) =>
      makeData({
        type: new Struct([field]),
        length: 4,
        nullCount: nullBitmap ? 1 : 0,
        nullBitmap,
        children: [item],
      });
    expect(arrowRefusal(columnStream(structs())).message).toMatch(/row 1 contains a null in "item"/);
    expect(decodeArrowBody(columnStream(structs(bits(0b1101)))).rows[1]).toEqual({ a: null });
  });

  test('a null item of a fixed-size list', () => {
    const fixed = makeData({ type: new FixedSizeList(2, field), length: 2, nullCount: 0, child: item });
    expect(arrowRefusal(columnStream(fixed)).message).toMatch(/row 0 contains a null in "item"/);
  });

  test('a null key', () => {
    const pair = new Struct<{ key: Int32; value: Int32 }>([
      new Field('key', new Int32(), false),
      new Field('value', new Int32(), true),
    ]);
    const child = makeData({ type: pair, length: 4, nullCount: 0, children: [item, item] });
    const type = new Map_(new Field('entries', pair, false));
    const maps = makeData({ type, length: 2, nullCount: 0, valueOffsets: Int32Array.of(0, 2, 4), child });
    expect(arrowRefusal(columnStream(maps)).message).toBe(
      'Column "a" of record batch 1: row 0 contains a null in "key", but the schema does not allow nulls there.',
    );
  });

  test('a null value of a dictionary that the schema does not allow', () => {
    const values = vectorFromArray(['x', null], new Utf8());
    const type = new Dictionary(new Utf8(), new Int32());
    const column = (...indices: number[]) =>
      new Data<DataType>(type, 0, 2, 0, [undefined, Int32Array.from(indices)], [], values);
    expect(arrowRefusal(columnStream(column(0, 1), false)).message).toBe(
      'Column "a" of record batch 1: row 1 contains a null in "a", but the schema does not allow nulls there.',
    );
    expect(decodeArrowBody(columnStream(column(0, 0), false)).rows).toEqual([{ a: 'x' }, { a: 'x' }]);
    const structs = makeData({
      type: new Struct([new Field('f', type, false)]),
      length: 2,
      nullCount: 1,
      nullBitmap: bits(0b01),
      children: [column(0, 1)],
    });
    expect(decodeArrowBody(columnStream(structs)).rows[1]).toEqual({ a: null });
  });

  test('but a null deep below a null row is fine', () => {
    const inner = makeData({ type: new Struct([field]), length: 4, nullCount: 0, children: [item] });
    const outer = (nullBitmap?: Uint8Array) =>
      makeData({
        type: new Struct([new Field('inner', inner.type, false)]),
        length: 4,
        nullCount: nullBitmap ? 1 : 0,
        nullBitmap,
        children: [inner],
      });
    expect(decodeArrowBody(columnStream(outer(bits(0b1101)))).rows[1]).toEqual({ a: null });
    expect(arrowRefusal(columnStream(outer())).message).toMatch(/row 1 contains a null in "item"/);
  });

  test('lists whose items start later start at item 0 when decoded', () => {
    const type = new List(new Field('item', new Int32(), true));
    const valueOffsets = Int32Array.of(0, 2, 3);
    const data = makeData({ type, length: 2, nullCount: 0, valueOffsets, child: item });
    const bytes = patched(columnStream(data), [0, 2, 3], [1, 2, 3]);
    const { rows, batches } = decodeArrowBody(bytes);
    expect(rows).toEqual([{ a: [null] }, { a: [3] }]);
    expect([...batches[0].data.children[0].valueOffsets]).toEqual([0, 1, 2]);
  });
});
