import { randomInt } from 'node:crypto';
import { quoted } from '@svc/errors/internal';
import type { ByteBudget } from '../../byte-budget.ts';
import { setBit } from '../../columns/column-data.ts';
import { type Handle, isHandle } from '../../store.ts';
import { allocateCounted, MAX_COLUMNS } from '../limits.ts';
import { type Halves, isToken, LineError, textOf, type Token } from './line-tokens.ts';

/** The types of line protocol values. */
export type LineKind = 'SYMBOL' | 'STRING' | 'BOOLEAN' | 'LONG' | 'ULONG' | 'DOUBLE' | 'TIMESTAMP' | 'TIMESTAMP_NS';

/** The bytes of a row in the slots of a column. */
const SLOT_BYTES: Readonly<Record<LineKind, number>> = {
  SYMBOL: 4,
  STRING: 4,
  BOOLEAN: 1,
  LONG: 8,
  ULONG: 8,
  DOUBLE: 8,
  TIMESTAMP: 8,
  TIMESTAMP_NS: 8,
};

/** A column while its lines are read. Rows that have no value are null. */
export interface LineColumn {
  readonly budget: ByteBudget;
  readonly name: string;
  readonly nameBytes: Uint8Array;
  kind: LineKind;
  /** The type of the first value. */
  readonly firstKind: LineKind;
  /** The lines of the first value, and of the first one of another numeric type. */
  readonly firstLine: number;
  mixedLine: number | undefined;
  /** The attempt to read a line that set the last value. A line that arrives in pieces takes several. */
  attempt: number;
  /** The end of the last row that has a value. */
  rows: number;
  capacity: number;
  validity: Uint8Array<ArrayBuffer>;
  /** The values: for text, where each row ends. */
  slots: ArrayBuffer;
  doubles: Float64Array<ArrayBuffer>;
  words: Int32Array<ArrayBuffer>;
  flags: Uint8Array<ArrayBuffer>;
  text: Uint8Array<ArrayBuffer>;
  readonly symbols: SymbolSet | undefined;
}

/** The buffers of a column without rows: thousands of columns share them. */
const NO_BYTES = new Uint8Array(0);
const NO_DOUBLES = new Float64Array(NO_BYTES.buffer);
const NO_WORDS = new Int32Array(NO_BYTES.buffer);
const FIRST_CAPACITY = 64;
/** What a column takes besides its values, from its first line until it is written: its objects and those of its field. */
export const COLUMN_BYTES = 4096;

function createLineColumn(name: string, kind: LineKind, firstLine: number, budget: ByteBudget): LineColumn {
  budget.take(COLUMN_BYTES);
  return {
    budget,
    name,
    nameBytes: Buffer.from(name),
    kind,
    firstKind: kind,
    firstLine,
    mixedLine: undefined,
    attempt: -1,
    rows: 0,
    capacity: 0,
    validity: NO_BYTES,
    slots: NO_BYTES.buffer,
    doubles: NO_DOUBLES,
    words: NO_WORDS,
    flags: NO_BYTES,
    text: NO_BYTES,
    symbols: kind === 'SYMBOL' ? createSymbolSet(budget) : undefined,
  };
}

/** Makes room for `rows` rows. A column of text has one slot more, as the first row begins at 0. */
export function reserveRows(column: LineColumn, rows: number): void {
  if (rows <= column.capacity) return;
  const { budget } = column;
  const capacity = Math.max(FIRST_CAPACITY, 2 * rows);
  const validity = allocateCounted(budget, (capacity >> 3) + 1);
  const slots = allocateCounted(budget, 8 * Math.ceil((SLOT_BYTES[column.kind] * (capacity + 1)) / 8));
  validity.set(column.validity);
  slots.set(column.flags);
  budget.free(column.validity.length + column.flags.length);
  column.capacity = capacity;
  column.validity = validity;
  useSlots(column, slots.buffer);
}

function useSlots(column: LineColumn, slots: ArrayBuffer): void {
  column.slots = slots;
  column.doubles = new Float64Array(slots);
  column.words = new Int32Array(slots);
  column.flags = new Uint8Array(slots);
}

function beginRow(column: LineColumn, row: number): void {
  if (row >= column.capacity) reserveRows(column, row + 1);
  setBit(column.validity, row);
}

export function putHalves(column: LineColumn, row: number, { low, high }: Halves): void {
  beginRow(column, row);
  column.words[2 * row] = low;
  column.words[2 * row + 1] = high;
  column.rows = row + 1;
}

export function putDouble(column: LineColumn, row: number, value: number): void {
  beginRow(column, row);
  column.doubles[row] = value;
  column.rows = row + 1;
}

export function putFlag(column: LineColumn, row: number, value: boolean): void {
  beginRow(column, row);
  column.flags[row] = value ? 1 : 0;
  column.rows = row + 1;
}

export function putText(column: LineColumn, row: number, { bytes, start, end }: Token): void {
  beginRow(column, row);
  if (column.symbols !== undefined) {
    column.words[row] = symbolIndex(column.symbols, bytes, start, end);
    column.rows = row + 1;
    return;
  }
  fillOffsets(column, row);
  const from = column.words[row];
  const to = from + end - start;
  if (to > column.text.length) {
    const text = allocateCounted(column.budget, Math.max(1024, 2 * to));
    text.set(column.text.subarray(0, from));
    column.budget.free(column.text.length);
    column.text = text;
  }
  const { text } = column;
  for (let at = start; at < end; at++) text[from + at - start] = bytes[at];
  column.words[row + 1] = to;
  column.rows = row + 1;
}

/** Makes the rows up to `row` that have no text empty. */
export function fillOffsets({ words, rows }: LineColumn, row: number): void {
  if (row > rows) words.fill(words[rows], rows + 1, row + 1);
}

/**
 * Makes a column of whole numbers one of doubles. Returns false, and changes nothing, if a double cannot hold one of
 * them.
 */
function toDoubles(column: LineColumn): boolean {
  const longs = column.kind === 'LONG' ? new BigInt64Array(column.slots) : new BigUint64Array(column.slots);
  const doubles = new Float64Array(longs.length);
  for (let row = 0; row < column.rows; row++) {
    doubles[row] = Number(longs[row]);
    if (BigInt(doubles[row]) !== longs[row]) return false;
  }
  column.kind = 'DOUBLE';
  useSlots(column, doubles.buffer);
  return true;
}

/** The distinct texts of a column, each with its index: a hash table over bytes, without a string for each cell. */
export interface SymbolSet {
  readonly budget: ByteBudget;
  count: number;
  /** The bytes of all texts; text `i` ends at `offsets[i + 1]`. */
  text: Uint8Array<ArrayBuffer>;
  offsets: Int32Array<ArrayBuffer>;
  /** Indices by hash, plus one; 0 is free. The length is a power of two, and at least twice the count. */
  buckets: Int32Array<ArrayBuffer>;
  /** The text that was found last: neighbouring rows often have the same. */
  last: number;
}

function createSymbolSet(budget: ByteBudget): SymbolSet {
  return {
    budget,
    count: 0,
    text: allocateCounted(budget, 256),
    offsets: new Int32Array(allocateCounted(budget, 4 * 17).buffer),
    buckets: new Int32Array(allocateCounted(budget, 4 * 32).buffer),
    last: -1,
  };
}

/** Returns the index of a text, which is added if it is new. */
function symbolIndex(set: SymbolSet, bytes: Uint8Array, start: number, end: number): number {
  if (set.last >= 0 && isText(set, set.last, bytes, start, end)) return set.last;
  const mask = set.buckets.length - 1;
  let bucket = hashOf(bytes, start, end) & mask;
  for (let entry = set.buckets[bucket]; entry !== 0; entry = set.buckets[bucket]) {
    if (isText(set, entry - 1, bytes, start, end)) return (set.last = entry - 1);
    bucket = (bucket + 1) & mask;
  }
  set.buckets[bucket] = set.count + 1;
  addText(set, bytes, start, end);
  return (set.last = set.count - 1);
}

function isText({ text, offsets }: SymbolSet, index: number, bytes: Uint8Array, start: number, end: number): boolean {
  const first = offsets[index];
  if (offsets[index + 1] - first !== end - start) return false;
  for (let i = end - start - 1; i >= 0; i--) if (text[first + i] !== bytes[start + i]) return false;
  return true;
}

/** Differs in each process, so a client cannot choose texts that collide. */
const SEED = randomInt(2 ** 31);

/** FNV-1a. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = SEED;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at], 0x01000193);
  return hash ^ (hash >>> 15);
}

function addText(set: SymbolSet, bytes: Uint8Array, start: number, end: number): void {
  const { budget } = set;
  const from = set.offsets[set.count];
  const to = from + end - start;
  if (to > set.text.length) {
    const text = allocateCounted(budget, 2 * to);
    text.set(set.text.subarray(0, from));
    budget.free(set.text.length);
    set.text = text;
  }
  for (let at = start; at < end; at++) set.text[from + at - start] = bytes[at];
  set.count++;
  if (set.count >= set.offsets.length) {
    const offsets = new Int32Array(allocateCounted(budget, 8 * set.offsets.length).buffer);
    offsets.set(set.offsets);
    budget.free(set.offsets.byteLength);
    set.offsets = offsets;
  }
  set.offsets[set.count] = to;
  if (2 * set.count > set.buckets.length) rehash(set);
}

function rehash(set: SymbolSet): void {
  const { budget } = set;
  const buckets = new Int32Array(allocateCounted(budget, 8 * set.buckets.length).buffer);
  const mask = buckets.length - 1;
  for (let i = 0; i < set.count; i++) {
    let bucket = hashOf(set.text, set.offsets[i], set.offsets[i + 1]) & mask;
    while (buckets[bucket] !== 0) bucket = (bucket + 1) & mask;
    buckets[bucket] = i + 1;
  }
  budget.free(set.buckets.byteLength);
  set.buckets = buckets;
}

/** The column of the time of a line. */
const TIME_COLUMN = 'timestamp';

/** The lines of one measurement. */
export interface LineTable {
  readonly budget: ByteBudget;
  readonly handle: Handle;
  readonly nameBytes: Uint8Array;
  readonly columns: LineColumn[];
  /** The place of each column. */
  readonly places: Map<string, number>;
  readonly time: LineColumn;
  /** The place of the next column, if a line has the columns of the line before it. */
  next: number;
  rows: number;
  /** The line of each row. */
  lines: Int32Array<ArrayBuffer>;
}

/** The most measurements of one request: each is a write of its own. */
const MAX_TABLES = 1000;

/** Finds the table of a measurement, or creates it. */
export function tableOf(
  tables: Map<string, LineTable>,
  token: Token,
  last: LineTable | undefined,
  line: number,
  budget: ByteBudget,
): LineTable {
  if (last !== undefined && isToken(token, last.nameBytes)) return last;
  const name = textOf(token);
  const known = tables.get(name);
  if (known !== undefined) return known;
  if (!isHandle(name)) {
    throw new LineError(
      line,
      name === '' ? 'the name of the table is missing.' : `${quoted(name)} is not a valid name of a table.`,
      'The name is the handle of a frame: 1 to 128 letters, digits, dots, dashes and underscores; it begins with a letter or digit.',
    );
  }
  if (tables.size >= MAX_TABLES) {
    throw new LineError(line, `a request has at most ${MAX_TABLES} tables.`, 'Send the lines in several requests.');
  }
  const table: LineTable = {
    budget,
    handle: name,
    nameBytes: Buffer.from(name),
    columns: [],
    places: new Map(),
    time: createLineColumn(TIME_COLUMN, 'TIMESTAMP_NS', line, budget),
    next: 0,
    rows: 0,
    lines: new Int32Array(0),
  };
  tables.set(name, table);
  return table;
}

/**
 * Finds the column of a value, or creates it. A column has values of one kind; whole numbers and doubles may be mixed, as
 * the frame may have a type for both.
 */
export function columnOf(table: LineTable, token: Token, kind: LineKind, attempt: number, line: number): LineColumn {
  const expected: LineColumn | undefined = table.columns[table.next];
  const isExpected = expected !== undefined && isToken(token, expected.nameBytes);
  const column = isExpected ? expected : otherColumn(table, token, kind, line);
  table.next++;
  if (column.attempt === attempt) {
    throw new LineError(line, `column ${quoted(column.name)} occurs twice.`, 'Send each column once in a line.');
  }
  column.attempt = attempt;
  if (column.kind !== kind) mix(column, kind, line);
  return column;
}

function otherColumn(table: LineTable, token: Token, kind: LineKind, line: number): LineColumn {
  const name = textOf(token);
  const place = table.places.get(name);
  if (place !== undefined) {
    table.next = place;
    return table.columns[place];
  }
  if (name === '') {
    throw new LineError(line, 'a column has no name.', 'Write tags and fields as name=value.');
  }
  if (name === TIME_COLUMN) {
    throw new LineError(
      line,
      `the column "${TIME_COLUMN}" is the time of the line.`,
      'Write the time at the end of the line, after a space.',
    );
  }
  if (table.columns.length >= MAX_COLUMNS - 1) {
    throw new LineError(line, `a table has at most ${MAX_COLUMNS} columns.`, 'Put the values in several tables.');
  }
  const column = createLineColumn(name, kind, line, table.budget);
  table.next = table.columns.length;
  table.places.set(name, table.next);
  table.columns.push(column);
  return column;
}

const NUMBERS: ReadonlySet<LineKind> = new Set(['LONG', 'ULONG', 'DOUBLE']);

function mix(column: LineColumn, kind: LineKind, line: number): void {
  const isMixable = NUMBERS.has(column.kind) && NUMBERS.has(kind) && (column.kind === 'DOUBLE' || kind === 'DOUBLE');
  if (isMixable && (column.kind === 'DOUBLE' || toDoubles(column))) column.mixedLine ??= line;
  else throw typeConflict(column, kind, line);
}

/** The error of a value whose type is not that of the column in an earlier line. */
export function typeConflict({ name, firstKind, firstLine }: LineColumn, kind: LineKind, line: number): LineError {
  return new LineError(
    line,
    `column ${quoted(name)} is ${kind} here, but ${firstKind} in line ${firstLine}.`,
    'Give every value of a column the same type: 1i is LONG, 1.0 is DOUBLE, "1" is STRING, t is BOOLEAN; a tag is SYMBOL.',
  );
}

/** Ends a row, whose columns have their values. */
export function endRow(table: LineTable, time: Halves, line: number): void {
  const { rows, budget } = table;
  putHalves(table.time, rows, time);
  if (rows >= table.lines.length) {
    const lines = new Int32Array(allocateCounted(budget, 8 * Math.max(32, rows)).buffer);
    lines.set(table.lines);
    budget.free(table.lines.byteLength);
    table.lines = lines;
  }
  table.lines[rows] = line;
  table.rows = rows + 1;
}
