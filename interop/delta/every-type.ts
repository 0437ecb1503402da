import {
  type DataType,
  DateDay,
  Decimal,
  Field,
  Float32,
  Int16,
  Int32,
  Int64,
  Int8,
  List,
  Schema,
  Struct,
  Table,
  TimestampMicrosecond,
  Uint16,
  Uint32,
  Uint64,
  Uint8,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';

const MOMENT = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

/** Columns with a value and a null, by name. */
const COLUMNS: Readonly<Record<string, readonly [type: DataType, value: unknown]>> = {
  int8: [new Int8(), -128],
  int16: [new Int16(), -32_768],
  int32: [new Int32(), -2_147_483_648],
  int64: [new Int64(), 9_007_199_254_740_993n],
  uint8: [new Uint8(), 255],
  uint16: [new Uint16(), 65_535],
  uint32: [new Uint32(), 4_294_967_295],
  unsigned: [new Uint64(), 18_446_744_073_709_551_615n],
  float: [new Float32(), 1.5],
  text: [new Utf8(), 'a "ü" 😀'],
  'a name, with; {other} (characters)': [new Utf8(), 'x'],
  decimal: [new Decimal(2, 10, 128), Uint32Array.of(120, 0, 0, 0)],
  date: [new DateDay(), new Date(Date.UTC(1969, 6, 20))],
  moment: [new TimestampMicrosecond('Europe/Berlin'), MOMENT],
  local: [new TimestampMicrosecond(), MOMENT],
  list: [new List(new Field('item', new Int32(), true)), [1, null]],
  struct: [new Struct([new Field('a', new Int32(), true), new Field('b', new Utf8(), true)]), { a: 1, b: null }],
};

/** What readers return for the value of a column. The others are left out. */
export const SEEN: Readonly<Record<string, unknown>> = {
  int8: -128,
  int16: -32_768,
  int32: -2_147_483_648,
  int64: '9007199254740993',
  uint8: 255,
  uint16: 65_535,
  uint32: 4_294_967_295,
  float: 1.5,
  text: 'a "ü" 😀',
  'a name, with; {other} (characters)': 'x',
  decimal: '1.20',
  date: '1969-07-20',
  moment: '2026-01-02T03:04:05.678000+00:00',
  local: '2026-01-02T03:04:05.678000',
  list: [1, null],
  struct: { a: 1, b: null },
};

/** A table of one column, with its value and a null. */
export function everyType(name: string): Table {
  const [type, value] = COLUMNS[name] ?? [new Int32(), 0];
  const vector = vectorFromArray([value, null], type);
  const schema = new Schema([new Field(name, type, true)]);
  return new Table(schema, { [name]: vector });
}
