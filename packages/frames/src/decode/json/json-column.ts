import { ServiceError } from '@svc/errors';
import {
  Bool,
  DataType,
  DateUnit,
  Field,
  Float64,
  Int64,
  IntervalUnit,
  List,
  Precision,
  Schema,
  Struct,
  Uint64,
  Utf8,
} from 'apache-arrow';
import { childrenOf, type DeclaredColumn, declaredField, keyAndValueOf, typeOf } from '../../column-types.ts';
import type { ByteBudget } from '../../byte-budget.ts';
import type { DecodeOptions } from '../../encoding.ts';
import { encodeSchema } from '../arrow/write-schema.ts';
import { decodeSchema } from '../arrow/read-schema.ts';
import { type IsWorking, WORKING } from '../decode-steps.ts';
import { allocate, MAX_COLUMNS } from '../limits.ts';

/** The memory of the columns of a frame. */
export interface JsonMemory {
  readonly budget: ByteBudget;
  /** The number of columns, including nested ones. */
  columns: number;
  /** The bytes of the rows since the last cut, or of the group that becomes a batch. */
  groupBytes: number;
  /** The used bytes at the last progress report. */
  shownBytes: number;
}

export function createJsonMemory(budget: ByteBudget): JsonMemory {
  return { budget, columns: 0, groupBytes: 0, shownBytes: 0 };
}

/** Counts bytes of the group, before they are allocated. */
function takeBytes(memory: JsonMemory, bytes: number): void {
  memory.budget.take(bytes);
  memory.groupBytes += bytes;
}

export function allocateCounted(memory: JsonMemory, bytes: number): Uint8Array<ArrayBuffer> {
  takeBytes(memory, bytes);
  return allocate(bytes);
}

/** Yields a step if much memory was taken since the last one, as a sign of progress. */
export function* showProgress(memory: JsonMemory): Generator<IsWorking, void, void> {
  if (memory.budget.usedBytes - memory.shownBytes < SHOWN_BYTES) return;
  memory.shownBytes = memory.budget.usedBytes;
  yield WORKING;
}

const SHOWN_BYTES = 1 << 23;

type Growable = Uint8Array<ArrayBuffer> | Int32Array<ArrayBuffer>;

interface GrowableType<Elements extends Growable> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer): Elements;
}

/** Copies elements to an array with room for at least `length`; doubles the size, so growth is amortized. */
export function grown<Elements extends Growable>(
  memory: JsonMemory,
  type: GrowableType<Elements>,
  elements: Elements,
  length: number,
): Elements {
  const room = Math.max(64, length, 2 * elements.length);
  takeBytes(memory, room * type.BYTES_PER_ELEMENT - elements.byteLength);
  const larger = new type(allocate(room * type.BYTES_PER_ELEMENT).buffer);
  larger.set(elements);
  return larger;
}

/** Copies the first `length` elements, or all if there are fewer, to a buffer of exactly their size. */
export function trimmed<Elements extends Growable>(
  memory: JsonMemory,
  type: GrowableType<Elements>,
  elements: Elements,
  length: number,
): Elements {
  if (length >= elements.length) return elements;
  const smaller = new type(allocate(length * type.BYTES_PER_ELEMENT).buffer);
  smaller.set(elements.subarray(0, length));
  takeBytes(memory, smaller.byteLength - elements.byteLength);
  return smaller;
}

/** The kind of value in a row. The order has no meaning. */
export const TAG = {
  null: 0,
  false: 1,
  true: 2,
  /** A non-negative integer that fits in int64. */
  long: 3,
  /** A negative integer that fits in int64. */
  negative: 4,
  /** An integer that fits only in uint64. */
  ulong: 5,
  /** An integer that does not fit in 64 bits. */
  big: 6,
  double: 7,
  string: 8,
  list: 9,
  struct: 10,
  /** The text of a number that is not an integer, in a column that keeps its digits. */
  number: 11,
} as const;

/**
 * The rows of a column between two cuts. A column with values of several kinds keeps them all: every kind has separate
 * storage, indexed by row, and the type is decided only at the end of the body. Storage ends at its last value, so that
 * missing values take no memory.
 */
export interface JsonSegment {
  rows: number;
  /** A bit for each tag that occurs. */
  kinds: number;
  /** The tag of each row; rows beyond the end are null. */
  tags: Uint8Array<ArrayBuffer>;
  /** 8 bytes per row: an integer or a double; 0 beyond the end. */
  slots: ArrayBuffer;
  /** The digits of integers that do not fit in a slot. */
  digits: Map<number, string> | undefined;
  /** The strings, and the doubles that are not written in their shortest form, in UTF-8; and the end of each row's text. */
  text: Uint8Array<ArrayBuffer>;
  textOffsets: Int32Array<ArrayBuffer>;
  /** The end of each row's list, as a row of the items. */
  listOffsets: Int32Array<ArrayBuffer>;
  items: JsonSegment | undefined;
  /** In the order of the column's fields; undefined if no row has a value. */
  fields: readonly (JsonSegment | undefined)[];
}

/** The type the values of a column must have. */
export interface ColumnTarget {
  readonly field: Field;
  /** True if a STRING takes only strings; else it takes any value as its text. */
  readonly isStrict: boolean;
  /** True if numbers with a fraction or an exponent are kept as text. */
  readonly keepsDigits: boolean;
  /** How an array is read: as a list, as `[key,value]` entries, or as exactly `size` items. */
  readonly layout: 'plain' | 'map' | 'fixed';
  readonly size: number;
}

/** A column that grows while rows are read. */
export interface JsonColumn {
  readonly name: string;
  /** The name in UTF-8, if a key can be compared with it byte by byte. */
  readonly key: Uint8Array | undefined;
  readonly memory: JsonMemory;
  /** Undefined if the values determine the type. */
  readonly target: ColumnTarget | undefined;
  /** A bit for each tag that occurs in any segment. */
  kinds: number;
  /** True if an integer cannot become a double: neither exactly nor as the text of one. */
  hasInexact: boolean;
  /** The last object with this key, to detect duplicates. */
  seenIn: number;
  readonly open: JsonSegment;
  /** Views on the slots of the open segment. */
  ints: Int32Array<ArrayBuffer>;
  floats: Float64Array<ArrayBuffer>;
  /** The rows whose end in the text, or in the items, is known. */
  textRows: number;
  listRows: number;
  items: JsonColumn | undefined;
  /** The fields of a struct, or the key and the value of a map. */
  readonly fields: JsonFields;
}

/** The columns of a row, or the fields of a struct, in order of appearance. */
export interface JsonFields {
  readonly list: JsonColumn[];
  readonly byName: Map<string, JsonColumn>;
  /** True if no other keys are allowed. */
  isClosed: boolean;
}

function createJsonFields(): JsonFields {
  return { list: [], byName: new Map(), isClosed: false };
}

export function createJsonColumn(name: string, memory: JsonMemory, target?: ColumnTarget): JsonColumn {
  if (++memory.columns > MAX_COLUMNS) {
    throw new ServiceError('invalid_data', `The rows have more than ${MAX_COLUMNS} columns, including nested ones.`, {
      hint: 'Use the same keys in every row; store keys that are data in a separate column.',
    });
  }
  // A string takes up to two bytes per character, and the key as many bytes as the name in UTF-8.
  memory.budget.take(5 * name.length);
  // These characters are escaped in JSON, so the key does not equal the name byte by byte.
  const isPlain = !/["\\\p{Cc}]/u.test(name);
  return {
    name,
    key: isPlain ? Buffer.from(name) : undefined,
    memory,
    target,
    kinds: 0,
    hasInexact: false,
    seenIn: 0,
    open: createSegment(),
    ints: NO_INTS,
    floats: NO_FLOATS,
    textRows: 0,
    listRows: 0,
    items: undefined,
    fields: createJsonFields(),
  };
}

// Shared by all empty columns; a column allocates arrays before its first value.
const NO_BYTES = new Uint8Array(0);
const NO_INTS = new Int32Array(NO_BYTES.buffer);
const NO_FLOATS = new Float64Array(NO_BYTES.buffer);

function createSegment(): JsonSegment {
  return {
    rows: 0,
    kinds: 0,
    tags: NO_BYTES,
    slots: NO_BYTES.buffer,
    digits: undefined,
    text: NO_BYTES,
    textOffsets: NO_INTS,
    listOffsets: NO_INTS,
    items: undefined,
    fields: [],
  };
}

/** Sets the tag of a row. */
export function putTag(column: JsonColumn, row: number, tag: number): void {
  const { open } = column;
  if (row >= open.tags.length) open.tags = grown(column.memory, Uint8Array, open.tags, row + 1);
  open.tags[row] = tag;
  open.kinds |= 1 << tag;
}

/** Puts an integer, given as two 32-bit halves. */
export function putLong(column: JsonColumn, row: number, tag: number, low: number, high: number): void {
  if (row >= column.floats.length) growSlots(column, row + 1);
  column.ints[2 * row] = low;
  column.ints[2 * row + 1] = high;
  putTag(column, row, tag);
}

export function putDouble(column: JsonColumn, row: number, value: number): void {
  if (row >= column.floats.length) growSlots(column, row + 1);
  column.floats[row] = value;
  putTag(column, row, TAG.double);
}

/** The overhead of a map entry. */
const ENTRY_BYTES = 64;

/** Puts the digits of an integer that does not fit in a slot. */
export function putDigits(column: JsonColumn, row: number, digits: string): void {
  takeBytes(column.memory, digits.length + ENTRY_BYTES);
  column.open.digits ??= new Map();
  column.open.digits.set(row, digits);
  putTag(column, row, TAG.big);
}

/** Reserves space for a row's string of at most `maxBytes`, and returns its start. A row can be started again. */
export function beginText(column: JsonColumn, row: number, maxBytes: number): number {
  const { open } = column;
  if (row + 1 >= open.textOffsets.length)
    open.textOffsets = grown(column.memory, Int32Array, open.textOffsets, row + 2);
  const { textOffsets } = open;
  if (column.textRows > row) column.textRows = row;
  const start = textOffsets[column.textRows];
  for (let i = column.textRows; i < row; i++) textOffsets[i + 1] = start;
  if (start + maxBytes > open.text.length) open.text = grown(column.memory, Uint8Array, open.text, start + maxBytes);
  return start;
}

/** Sets the end of a row's string, or of the text of its number. */
export function endText(column: JsonColumn, row: number, end: number, tag: number = TAG.string): void {
  column.open.textOffsets[row + 1] = end;
  column.textRows = row + 1;
  putTag(column, row, tag);
}

/** Starts a row's list, and returns the first row of its items. */
export function beginList(column: JsonColumn, row: number): number {
  const { open } = column;
  if (row + 1 >= open.listOffsets.length)
    open.listOffsets = grown(column.memory, Int32Array, open.listOffsets, row + 2);
  if (column.listRows > row) column.listRows = row;
  const start = open.listOffsets[column.listRows];
  for (let i = column.listRows; i < row; i++) open.listOffsets[i + 1] = start;
  return start;
}

/** Sets the end of a row's list, as a row of the items. */
export function endList(column: JsonColumn, row: number, end: number): void {
  column.open.listOffsets[row + 1] = end;
  column.listRows = row + 1;
  putTag(column, row, TAG.list);
}

/** Returns the items of a column with lists. */
export function itemsOf(column: JsonColumn): JsonColumn {
  column.items ??= createJsonColumn('item', column.memory);
  return column.items;
}

/** Trims and returns the open segment, undefined if it has no values; the column continues with an empty one. */
function sealSegment(column: JsonColumn, rows: number): JsonSegment | undefined {
  const { open, memory, textRows, listRows } = column;
  if (open.tags.length === 0) return undefined;
  takeBytes(memory, SEGMENT_BYTES);
  const items = lastOf(open.listOffsets, listRows);
  const sealed: JsonSegment = {
    ...open,
    rows,
    tags: trimmed(memory, Uint8Array, open.tags, rows),
    slots: trimmed(memory, Uint8Array, new Uint8Array(open.slots), 8 * rows).buffer,
    text: trimmed(memory, Uint8Array, open.text, lastOf(open.textOffsets, textRows)),
    textOffsets: trimmed(memory, Int32Array, open.textOffsets, textRows + 1),
    listOffsets: trimmed(memory, Int32Array, open.listOffsets, listRows + 1),
    items: column.items && sealSegment(column.items, items),
    fields: sealSegments(column.fields.list, memory, column.target?.layout === 'map' ? items : rows),
  };
  column.kinds |= open.kinds;
  column.textRows = 0;
  column.listRows = 0;
  Object.assign(open, createSegment());
  column.ints = NO_INTS;
  column.floats = NO_FLOATS;
  return sealed;
}

/** Seals the open segments of columns. */
export function sealSegments(
  columns: readonly JsonColumn[],
  memory: JsonMemory,
  rows: number,
): (JsonSegment | undefined)[] {
  takeBytes(memory, 8 * columns.length);
  return columns.map((column) => sealSegment(column, rows));
}

/** The overhead of a segment: the object, and one for each of its arrays. */
const SEGMENT_BYTES = 256;

/** Returns the end of the last row. */
function lastOf(offsets: Int32Array, rows: number): number {
  return rows === 0 ? 0 : offsets[rows];
}

function growSlots(column: JsonColumn, rows: number): void {
  const slots = grown(column.memory, Uint8Array, new Uint8Array(column.open.slots), 8 * rows).buffer;
  column.open.slots = slots;
  column.ints = new Int32Array(slots);
  column.floats = new Float64Array(slots);
}

/** The type a column of JSON values becomes. */
type JsonColumnKind = 'bool' | 'long' | 'ulong' | 'double' | 'string' | 'text' | 'list' | 'struct';

const NULL = 1 << TAG.null;
const BOOL = (1 << TAG.true) | (1 << TAG.false);
const SIGNED = (1 << TAG.long) | (1 << TAG.negative);
const UNSIGNED = (1 << TAG.long) | (1 << TAG.ulong);
const DOUBLE = 1 << TAG.double;
const NUMBER = SIGNED | UNSIGNED | (1 << TAG.big) | DOUBLE;

/**
 * Returns the type of a column, by its values:
 * - only booleans, strings, arrays or objects: that type;
 * - integers: LONG; ULONG if some need 64 bits unsigned and none is negative;
 * - integers and other numbers: DOUBLE, unless an integer would change;
 * - only null: STRING;
 * - any other mix, and integers that do not fit in 64 bits: STRING. Numbers are then as they were written, and arrays
 *   and objects are compact JSON (without keys whose value is null).
 */
export function kindOf({ kinds, hasInexact }: JsonColumn): JsonColumnKind {
  const only = (bits: number) => (kinds & ~(bits | NULL)) === 0;
  if (only(1 << TAG.string)) return 'string';
  if (only(BOOL)) return 'bool';
  if (only(SIGNED)) return 'long';
  if (only(UNSIGNED)) return 'ulong';
  if (only(NUMBER) && (kinds & DOUBLE) !== 0 && !hasInexact) return 'double';
  if (only(1 << TAG.list)) return 'list';
  if (only(1 << TAG.struct)) return 'struct';
  return 'text';
}

/** Returns the schema of the columns. All are nullable. */
export function schemaOf(columns: readonly JsonColumn[]): Schema {
  return new Schema(columns.map(fieldOf));
}

function fieldOf(column: JsonColumn): Field {
  return column.target?.field ?? new Field(column.name, inferredType(column), true);
}

function inferredType(column: JsonColumn): DataType {
  switch (kindOf(column)) {
    case 'bool':
      return new Bool();
    case 'long':
      return new Int64();
    case 'ulong':
      return new Uint64();
    case 'double':
      return new Float64();
    case 'list':
      return new List(fieldOf(itemsOf(column)));
    case 'struct':
      return new Struct(column.fields.list.map(fieldOf));
    case 'string':
    case 'text':
    default:
      return new Utf8();
  }
}

/** A column whose type is known, and a segment of its values. */
export interface TypedSegment {
  readonly column: JsonColumn;
  readonly target: ColumnTarget;
  /** Undefined if all rows are null. */
  readonly segment: JsonSegment | undefined;
  readonly rows: number;
}

/** The required columns of rows. */
export interface JsonTarget {
  /** The names of all columns, in order. A key that is not among them is `invalid_data`. */
  readonly names: readonly string[];
  /** The columns whose type is known. The values determine the types of the others. */
  readonly fields: readonly Field[];
  /** True if a STRING takes only strings; else it takes any value as its text. */
  readonly isStrict: boolean;
}

/** A target in the form a worker gets. */
export interface TargetMessage {
  readonly names: readonly string[];
  /** A schema message. */
  readonly schema: Uint8Array;
  readonly isStrict: boolean;
}

/**
 * Creates the target of rows. Columns that are declared without a type have that of the frame. A type of the frame that
 * JSON has no form for is left open.
 */
export function targetMessage({ columns, addedTo }: DecodeOptions): TargetMessage | undefined {
  if (columns === undefined && addedTo === undefined) return undefined;
  const frame = new Map((addedTo?.fields ?? []).map((field) => [field.name, field]));
  const declared: readonly DeclaredColumn[] = columns ?? [...frame.keys()].map((name) => ({ name }));
  const fields = declared.flatMap(({ name, type }) => {
    const field = type !== undefined ? declaredField(name, type) : frame.get(name);
    return field && isReadable(typeOf(field)) ? [field] : [];
  });
  const names = declared.map(({ name }) => name);
  return { names, schema: encodeSchema(new Schema(fields)), isStrict: columns !== undefined };
}

/** Reads a target in a worker. */
export function targetFromMessage({ schema, ...target }: TargetMessage): JsonTarget {
  return { ...target, fields: decodeSchema(schema).fields };
}

/** True if values of a type can be read from JSON. */
export function isReadable(type: DataType): boolean {
  if (DataType.isFloat(type)) return type.precision !== Precision.HALF;
  if (DataType.isDecimal(type)) return type.bitWidth === 128 || type.bitWidth === 256;
  if (DataType.isInterval(type)) return type.unit === IntervalUnit.MONTH_DAY_NANO;
  if (DataType.isDate(type)) return type.unit === DateUnit.DAY;
  if (isNested(type)) return childrenOf({ type }).every((child) => isReadable(typeOf(child)));
  return (
    DataType.isBool(type) ||
    DataType.isInt(type) ||
    DataType.isUtf8(type) ||
    DataType.isBinary(type) ||
    DataType.isFixedSizeBinary(type) ||
    DataType.isTimestamp(type) ||
    DataType.isTime(type) ||
    DataType.isDuration(type)
  );
}

function isNested(type: DataType): boolean {
  return DataType.isList(type) || DataType.isFixedSizeList(type) || DataType.isStruct(type) || DataType.isMap(type);
}

/** Creates the columns of rows: those of a target, which no others may join, or none yet. */
export function createRowFields(memory: JsonMemory, target?: JsonTarget): JsonFields {
  const fields = createJsonFields();
  if (target === undefined) return fields;
  const byName = new Map(target.fields.map((field) => [field.name, field]));
  for (const name of target.names) {
    const field = byName.get(name);
    addColumn(fields, field ? createTypedColumn(field, memory, target.isStrict) : createJsonColumn(name, memory));
  }
  fields.isClosed = true;
  return fields;
}

function addColumn(fields: JsonFields, column: JsonColumn): void {
  fields.list.push(column);
  fields.byName.set(column.name, column);
}

/** Creates a column for values of a type, with the columns inside it. */
function createTypedColumn(field: Field, memory: JsonMemory, isStrict: boolean): JsonColumn {
  const type = typeOf(field);
  const column = createJsonColumn(field.name, memory, targetOf(field, isStrict));
  if (DataType.isMap(type)) {
    for (const inner of keyAndValueOf({ type })) addColumn(column.fields, createTypedColumn(inner, memory, isStrict));
  } else if (DataType.isStruct(type)) {
    for (const inner of childrenOf({ type })) addColumn(column.fields, createTypedColumn(inner, memory, isStrict));
    column.fields.isClosed = true;
  } else if (isNested(type)) {
    const [item] = childrenOf({ type });
    column.items = createTypedColumn(item, memory, isStrict);
  }
  return column;
}

function targetOf(field: Field, isStrict: boolean): ColumnTarget {
  const type = typeOf(field);
  return {
    field,
    isStrict,
    keepsDigits: DataType.isInt(type) || DataType.isDecimal(type) || DataType.isUtf8(type),
    layout: DataType.isMap(type) ? 'map' : DataType.isFixedSizeList(type) ? 'fixed' : 'plain',
    size: DataType.isFixedSizeList(type) ? type.listSize : 0,
  };
}
