import { randomInt } from 'node:crypto';
import type { ByteBudget } from '../../byte-budget.ts';
import { setBit } from '../../columns/bits.ts';
import { allocateCounted } from '../limits.ts';
import type { Halves } from './line-numbers.ts';

/** The types that values of line protocol have by themselves. */
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

/** Creates a column without values. */
export function createLineColumn(name: string, kind: LineKind, firstLine: number, budget: ByteBudget): LineColumn {
  budget.take(COLUMN_BYTES);
  return {
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
export function reserveRows(column: LineColumn, rows: number, budget: ByteBudget): void {
  if (rows <= column.capacity) return;
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

function beginRow(column: LineColumn, row: number, budget: ByteBudget): void {
  if (row >= column.capacity) reserveRows(column, row + 1, budget);
  setBit(column.validity, row);
}

/** Sets a 64-bit integer. */
export function putHalves(column: LineColumn, row: number, { low, high }: Halves, budget: ByteBudget): void {
  beginRow(column, row, budget);
  column.words[2 * row] = low;
  column.words[2 * row + 1] = high;
  column.rows = row + 1;
}

/** Sets a double. */
export function putDouble(column: LineColumn, row: number, value: number, budget: ByteBudget): void {
  beginRow(column, row, budget);
  column.doubles[row] = value;
  column.rows = row + 1;
}

/** Sets a boolean. */
export function putFlag(column: LineColumn, row: number, value: boolean, budget: ByteBudget): void {
  beginRow(column, row, budget);
  column.flags[row] = value ? 1 : 0;
  column.rows = row + 1;
}

/** Sets a text. */
export function putText(
  column: LineColumn,
  row: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  budget: ByteBudget,
): void {
  beginRow(column, row, budget);
  if (column.symbols !== undefined) {
    column.words[row] = symbolIndex(column.symbols, bytes, start, end, budget);
    column.rows = row + 1;
    return;
  }
  fillOffsets(column, row);
  const from = column.words[row];
  const to = from + end - start;
  if (to > column.text.length) {
    const text = allocateCounted(budget, Math.max(1024, 2 * to));
    text.set(column.text.subarray(0, from));
    budget.free(column.text.length);
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
export function toDoubles(column: LineColumn): boolean {
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
  count: number;
  /** The bytes of all texts; text `i` ends at `offsets[i + 1]`. */
  text: Uint8Array<ArrayBuffer>;
  offsets: Int32Array<ArrayBuffer>;
  /** Indices by hash, plus one; 0 is free. The length is a power of two, and at least twice the count. */
  buckets: Int32Array<ArrayBuffer>;
  /** The text that was found last: neighbouring rows often have the same. */
  last: number;
}

/** Creates an empty set. */
function createSymbolSet(budget: ByteBudget): SymbolSet {
  return {
    count: 0,
    text: allocateCounted(budget, 256),
    offsets: new Int32Array(allocateCounted(budget, 4 * 17).buffer),
    buckets: new Int32Array(allocateCounted(budget, 4 * 32).buffer),
    last: -1,
  };
}

/** Returns the index of a text, which is added if it is new. */
function symbolIndex(set: SymbolSet, bytes: Uint8Array, start: number, end: number, budget: ByteBudget): number {
  if (set.last >= 0 && isText(set, set.last, bytes, start, end)) return set.last;
  const mask = set.buckets.length - 1;
  let bucket = hashOf(bytes, start, end) & mask;
  for (let entry = set.buckets[bucket]; entry !== 0; entry = set.buckets[bucket]) {
    if (isText(set, entry - 1, bytes, start, end)) return (set.last = entry - 1);
    bucket = (bucket + 1) & mask;
  }
  set.buckets[bucket] = set.count + 1;
  addText(set, bytes, start, end, budget);
  return (set.last = set.count - 1);
}

function isText({ text, offsets }: SymbolSet, index: number, bytes: Uint8Array, start: number, end: number): boolean {
  const first = offsets[index];
  if (offsets[index + 1] - first !== end - start) return false;
  for (let i = end - start - 1; i >= 0; i--) if (text[first + i] !== bytes[start + i]) return false;
  return true;
}

/** Differs in each process, so that a client cannot choose texts that collide. */
const SEED = randomInt(2 ** 31);

/** FNV-1a. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = SEED;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at], 0x01000193);
  return hash ^ (hash >>> 15);
}

function addText(set: SymbolSet, bytes: Uint8Array, start: number, end: number, budget: ByteBudget): void {
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
  if (2 * set.count > set.buckets.length) rehash(set, budget);
}

function rehash(set: SymbolSet, budget: ByteBudget): void {
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
