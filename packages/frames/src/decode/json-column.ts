import { ServiceError } from '@svc/errors';
import type { ByteBudget } from '../byte-budget.ts';
import { allocate, MAX_COLUMNS } from './limits.ts';

/** What a row of a column holds. The order of the numbers means nothing. */
export const TAG = {
  null: 0,
  false: 1,
  true: 2,
  /** A whole number of 0 or more that fits into 64 bits with a sign. */
  long: 3,
  /** A whole number below 0 that fits into 64 bits with a sign. */
  negative: 4,
  /** A whole number that fits only into 64 bits without a sign. */
  ulong: 5,
  /** A whole number that fits into no 64 bits. */
  big: 6,
  double: 7,
  string: 8,
  list: 9,
  struct: 10,
} as const;

/**
 * The rows of a column between two cuts. A column that changes its mind keeps both: every kind of value has a storage of
 * its own, indexed by row, and only the end of the body decides what the column is.
 */
export interface JsonSegment {
  rows: number;
  /** A bit for each tag that occurs. */
  kinds: number;
  /** What each row holds; rows beyond the end are null. */
  tags: Uint8Array<ArrayBuffer>;
  /** 8 bytes a row: a whole number or a double. */
  slots: ArrayBuffer;
  /** The digits of the rows that fit into no slot. */
  digits: Map<number, string> | undefined;
  /** UTF-8 of the strings, and where the string of each row ends. */
  text: Uint8Array<ArrayBuffer>;
  textOffsets: Int32Array<ArrayBuffer>;
  /** Rows of the items where the list of each row ends. */
  listOffsets: Int32Array<ArrayBuffer>;
  items: JsonSegment | undefined;
  /** In the order of the column's fields. */
  fields: readonly JsonSegment[];
}

/** A column that grows while rows are read. */
export interface JsonColumn {
  readonly name: string;
  /** The UTF-8 of the name, where a key can be compared with it byte by byte. */
  readonly key: Uint8Array | undefined;
  readonly memory: JsonMemory;
  /** A bit for each tag that occurs in any segment. */
  kinds: number;
  /** The last object that had this key: a second time is a duplicate. */
  seenIn: number;
  readonly open: JsonSegment;
  /** Views of the open segment's slots. */
  ints: Int32Array<ArrayBuffer>;
  floats: Float64Array<ArrayBuffer>;
  /** Rows whose end in the text, or in the items, is known. */
  textRows: number;
  listRows: number;
  items: JsonColumn | undefined;
  readonly fields: JsonFields;
}

/** The columns of a row, or the fields of a struct, in the order in which they appeared. */
export interface JsonFields {
  readonly list: JsonColumn[];
  readonly byName: Map<string, JsonColumn>;
}

/** What all columns of a frame share. */
export interface JsonMemory {
  readonly budget: ByteBudget;
  columns: number;
}

/** No columns yet. */
export function createJsonFields(): JsonFields {
  return { list: [], byName: new Map() };
}

/** A column without rows. */
export function createJsonColumn(name: string, memory: JsonMemory): JsonColumn {
  if (++memory.columns > MAX_COLUMNS) {
    throw new ServiceError('invalid_data', `The rows have more than ${MAX_COLUMNS} columns, nested ones included.`, {
      hint: 'Use the same keys in every row; put keys that are data into a column of their own.',
    });
  }
  // A name with these is written with escapes, and not equal to its key byte by byte.
  const isPlain = !/["\\\p{Cc}]/u.test(name);
  return {
    name,
    key: isPlain ? Buffer.from(name) : undefined,
    memory,
    kinds: 0,
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

// Columns begin with these instead of arrays of their own, and grow before they are written to.
const NO_BYTES = new Uint8Array(0);
const NO_INTS = new Int32Array(NO_BYTES.buffer);
const NO_FLOATS = new Float64Array(NO_BYTES.buffer);
const NO_OFFSETS = new Int32Array(1);

function createSegment(): JsonSegment {
  return {
    rows: 0,
    kinds: 0,
    tags: NO_BYTES,
    slots: NO_BYTES.buffer,
    digits: undefined,
    text: NO_BYTES,
    textOffsets: NO_OFFSETS,
    listOffsets: NO_OFFSETS,
    items: undefined,
    fields: [],
  };
}

/** Says what a row holds. */
export function putTag(column: JsonColumn, row: number, tag: number): void {
  const { open } = column;
  if (row >= open.tags.length) open.tags = grown(Uint8Array, open.tags, row + 1);
  open.tags[row] = tag;
  open.kinds |= 1 << tag;
}

/** Puts a whole number, given as two halves of 32 bits, or a double. */
export function putLong(column: JsonColumn, row: number, tag: number, low: number, high: number): void {
  if (row >= column.floats.length) growSlots(column, row + 1);
  column.ints[2 * row] = low;
  column.ints[2 * row + 1] = high;
  putTag(column, row, tag);
}

/** Puts a double. */
export function putDouble(column: JsonColumn, row: number, value: number): void {
  if (row >= column.floats.length) growSlots(column, row + 1);
  column.floats[row] = value;
  putTag(column, row, TAG.double);
}

/** Puts the digits of a whole number that fits into no slot. */
export function putDigits(column: JsonColumn, row: number, digits: string): void {
  column.open.digits ??= new Map();
  column.memory.budget.take(digits.length);
  column.open.digits.set(row, digits);
  putTag(column, row, TAG.big);
}

/** Room for a string of at most so many bytes in a row; returns where it starts. A row can be begun again. */
export function beginText(column: JsonColumn, row: number, maxBytes: number): number {
  const { open } = column;
  if (row + 1 >= open.textOffsets.length)
    open.textOffsets = grownCounted(column, Int32Array, open.textOffsets, row + 2);
  const { textOffsets } = open;
  if (column.textRows > row) column.textRows = row;
  const start = textOffsets[column.textRows];
  for (let i = column.textRows; i < row; i++) textOffsets[i + 1] = start;
  if (start + maxBytes > open.text.length) open.text = grownCounted(column, Uint8Array, open.text, start + maxBytes);
  return start;
}

/** Says where the string of a row ended. */
export function endText(column: JsonColumn, row: number, end: number): void {
  column.open.textOffsets[row + 1] = end;
  column.textRows = row + 1;
  putTag(column, row, TAG.string);
}

/** Begins a list in a row; returns the first row of its items. */
export function beginList(column: JsonColumn, row: number): number {
  const { open } = column;
  if (row + 1 >= open.listOffsets.length)
    open.listOffsets = grownCounted(column, Int32Array, open.listOffsets, row + 2);
  if (column.listRows > row) column.listRows = row;
  const start = open.listOffsets[column.listRows];
  for (let i = column.listRows; i < row; i++) open.listOffsets[i + 1] = start;
  return start;
}

/** Says after which row of the items the list of a row ended. */
export function endList(column: JsonColumn, row: number, end: number): void {
  column.open.listOffsets[row + 1] = end;
  column.listRows = row + 1;
  putTag(column, row, TAG.list);
}

/** The items of a column that has a list in some row. */
export function itemsOf(column: JsonColumn): JsonColumn {
  column.items ??= createJsonColumn('item', column.memory);
  return column.items;
}

/** The open segment, cut to its rows; the column goes on with an empty one. */
export function sealSegment(column: JsonColumn, rows: number): JsonSegment {
  const { open, memory } = column;
  const sealed: JsonSegment = {
    ...open,
    rows,
    tags: resized(open.tags, rows),
    slots: open.slots.byteLength === 0 ? open.slots : resized(new Uint8Array(open.slots), 8 * rows).buffer,
    text: open.text.slice(0, open.textOffsets[column.textRows]),
    textOffsets: sealedOffsets(open.textOffsets, column.textRows, rows),
    listOffsets: sealedOffsets(open.listOffsets, column.listRows, rows),
    items: column.items && sealSegment(column.items, open.listOffsets[column.listRows]),
    fields: column.fields.list.map((field) => sealSegment(field, rows)),
  };
  memory.budget.free(countedBytes(open) - countedBytes(sealed));
  column.kinds |= open.kinds;
  column.textRows = 0;
  column.listRows = 0;
  Object.assign(open, createSegment());
  column.ints = NO_INTS;
  column.floats = NO_FLOATS;
  return sealed;
}

/** Offsets of all rows: those after the last known one are empty. Of none, where none is known. */
function sealedOffsets(offsets: Int32Array, known: number, rows: number): Int32Array<ArrayBuffer> {
  const sealed = new Int32Array(known === 0 ? 1 : rows + 1);
  sealed.set(offsets.subarray(0, known + 1));
  return sealed.fill(offsets[known], known + 1);
}

/** A copy of exactly so many bytes. */
function resized(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const copy = allocate(length);
  copy.set(bytes.subarray(0, length));
  return copy;
}

function countedBytes({ slots, text, textOffsets, listOffsets }: JsonSegment): number {
  return slots.byteLength + text.byteLength + textOffsets.byteLength + listOffsets.byteLength;
}

function growSlots(column: JsonColumn, rows: number): void {
  const slots = grownCounted(column, Uint8Array, new Uint8Array(column.open.slots), 8 * rows).buffer;
  column.open.slots = slots;
  column.ints = new Int32Array(slots);
  column.floats = new Float64Array(slots);
}

type Growable = Uint8Array<ArrayBuffer> | Int32Array<ArrayBuffer>;

interface GrowableType<Elements extends Growable> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer): Elements;
}

function grownCounted<Elements extends Growable>(
  { memory }: JsonColumn,
  type: GrowableType<Elements>,
  elements: Elements,
  length: number,
): Elements {
  const larger = grown(type, elements, length);
  memory.budget.take(larger.byteLength - elements.byteLength);
  return larger;
}

/** A copy with room for at least so many elements: twice as many, so that growing stays cheap. */
function grown<Elements extends Growable>(type: GrowableType<Elements>, elements: Elements, length: number): Elements {
  const room = Math.max(64, length, 2 * elements.length);
  const larger = new type(allocate(8 * Math.ceil((room * type.BYTES_PER_ELEMENT) / 8)).buffer);
  larger.set(elements);
  return larger;
}
