import { ServiceError } from '@svc/errors';
import { grown, type JsonMemory, takeBytes, trimmed } from './json-memory.ts';
import { MAX_COLUMNS } from '../limits.ts';

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
 * its own, indexed by row, and only the end of the body decides what the column is. A storage ends where its last value
 * does: what is not in the body takes no memory.
 */
export interface JsonSegment {
  rows: number;
  /** A bit for each tag that occurs. */
  kinds: number;
  /** What each row holds; rows beyond the end are null. */
  tags: Uint8Array<ArrayBuffer>;
  /** 8 bytes a row: a whole number or a double; 0 beyond the end. */
  slots: ArrayBuffer;
  /** The digits of the rows that fit into no slot. */
  digits: Map<number, string> | undefined;
  /** UTF-8 of the strings, and where the string of each row ends. */
  text: Uint8Array<ArrayBuffer>;
  textOffsets: Int32Array<ArrayBuffer>;
  /** Rows of the items where the list of each row ends. */
  listOffsets: Int32Array<ArrayBuffer>;
  items: JsonSegment | undefined;
  /** In the order of the column's fields; undefined where no row has a value. */
  fields: readonly (JsonSegment | undefined)[];
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
  // Text has up to two bytes a character, and the key as many as the name has in UTF-8.
  memory.budget.take(5 * name.length);
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

/** Says what a row holds. */
export function putTag(column: JsonColumn, row: number, tag: number): void {
  const { open } = column;
  if (row >= open.tags.length) open.tags = grown(column.memory, Uint8Array, open.tags, row + 1);
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

/** What an entry of a map takes beside its text. */
const ENTRY_BYTES = 64;

/** Puts the digits of a whole number that fits into no slot. */
export function putDigits(column: JsonColumn, row: number, digits: string): void {
  takeBytes(column.memory, digits.length + ENTRY_BYTES);
  column.open.digits ??= new Map();
  column.open.digits.set(row, digits);
  putTag(column, row, TAG.big);
}

/** Room for a string of at most so many bytes in a row; returns where it starts. A row can be begun again. */
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
    open.listOffsets = grown(column.memory, Int32Array, open.listOffsets, row + 2);
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

/** The open segment, cut to its rows, undefined where none has a value; the column goes on with an empty one. */
function sealSegment(column: JsonColumn, rows: number): JsonSegment | undefined {
  const { open, memory, textRows, listRows } = column;
  if (open.tags.length === 0) return undefined;
  takeBytes(memory, SEGMENT_BYTES);
  const sealed: JsonSegment = {
    ...open,
    rows,
    tags: trimmed(memory, Uint8Array, open.tags, rows),
    slots: trimmed(memory, Uint8Array, new Uint8Array(open.slots), 8 * rows).buffer,
    text: trimmed(memory, Uint8Array, open.text, lastOf(open.textOffsets, textRows)),
    textOffsets: trimmed(memory, Int32Array, open.textOffsets, textRows + 1),
    listOffsets: trimmed(memory, Int32Array, open.listOffsets, listRows + 1),
    items: column.items && sealSegment(column.items, lastOf(open.listOffsets, listRows)),
    fields: sealSegments(column.fields.list, memory, rows),
  };
  column.kinds |= open.kinds;
  column.textRows = 0;
  column.listRows = 0;
  Object.assign(open, createSegment());
  column.ints = NO_INTS;
  column.floats = NO_FLOATS;
  return sealed;
}

/** The open segments of columns, cut to their rows. */
export function sealSegments(
  columns: readonly JsonColumn[],
  memory: JsonMemory,
  rows: number,
): (JsonSegment | undefined)[] {
  takeBytes(memory, 8 * columns.length);
  return columns.map((column) => sealSegment(column, rows));
}

/** What a segment takes beside its arrays: itself, and a head for each of them. */
const SEGMENT_BYTES = 256;

/** Where the last of so many rows ends. */
function lastOf(offsets: Int32Array, rows: number): number {
  return rows === 0 ? 0 : offsets[rows];
}

function growSlots(column: JsonColumn, rows: number): void {
  const slots = grown(column.memory, Uint8Array, new Uint8Array(column.open.slots), 8 * rows).buffer;
  column.open.slots = slots;
  column.ints = new Int32Array(slots);
  column.floats = new Float64Array(slots);
}
