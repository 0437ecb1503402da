import { DataType, TimeUnit } from 'apache-arrow';

/** The values of a column, or its dictionary indices; see `elementsPerRow`. */
export type Values =
  | Int8Array<ArrayBuffer>
  | Int16Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | BigInt64Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | BigUint64Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>;

/**
 * The buffers of one column of one batch, in the form the worker sends to the main thread. The type is in the
 * schema; dictionary values are sent separately.
 */
export interface ColumnData {
  readonly length: number;
  readonly nullCount: number;
  /** One bit per row; undefined if no row is null. */
  readonly validity?: Uint8Array<ArrayBuffer>;
  readonly offsets?: Int32Array<ArrayBuffer> | BigInt64Array<ArrayBuffer>;
  readonly values?: Values;
  /** The data buffers of a view column. */
  readonly parts?: readonly Uint8Array<ArrayBuffer>[];
  readonly children?: readonly ColumnData[];
}

export function isNullAt({ validity }: Pick<ColumnData, 'validity'>, row: number): boolean {
  return validity !== undefined && !isBitSet(validity, row);
}

/** Collects the distinct ArrayBuffers of the columns, for a transfer list. */
export function buffersOf(columns: readonly ColumnData[], found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  for (const { validity, offsets, values, parts = [], children = [] } of columns) {
    for (const view of [validity, offsets, values, ...parts]) {
      if (view !== undefined && view.buffer.byteLength > 0) found.add(view.buffer);
    }
    buffersOf(children, found);
  }
  return found;
}

/** Returns the array elements per row, for a type that is neither nested nor variable-length. */
export function elementsPerRow(type: DataType): number {
  if (DataType.isDecimal(type)) return type.bitWidth / 32;
  if (DataType.isInterval(type)) return [1, 2, 4][type.unit];
  return DataType.isFixedSizeBinary(type) ? type.byteWidth : 1;
}

/** True if a type has 64-bit offsets. */
export function isWide(type: DataType): boolean {
  return DataType.isLargeUtf8(type) || DataType.isLargeBinary(type) || DataType.isLargeList(type);
}

/** True if the values of a type are views. */
export function isViews(type: DataType): boolean {
  return DataType.isUtf8View(type) || DataType.isBinaryView(type);
}

/** True for lists with offsets. A map is a list of pairs. */
export function isListWithOffsets(type: DataType): boolean {
  return DataType.isList(type) || DataType.isLargeList(type) || DataType.isMap(type);
}

/** True for texts and binary values with offsets. */
export function isBytesWithOffsets(type: DataType): boolean {
  return DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isBinary(type) || DataType.isLargeBinary(type);
}

export function isBitSet(bits: Uint8Array, at: number): boolean {
  return (bits[at >> 3] & (1 << (at & 7))) !== 0;
}

export function setBit(bits: Uint8Array, at: number): void {
  bits[at >> 3] |= 1 << (at & 7);
}

/** Counts the set bits among the first `length`. */
export function countBits(bits: Uint8Array, length: number): number {
  let count = 0;
  const whole = length >> 3;
  for (let i = 0; i < whole; i++) count += BITS_SET[bits[i]];
  return length % 8 === 0 ? count : count + BITS_SET[bits[whole] & ((1 << (length % 8)) - 1)];
}

const BITS_SET = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);

/** Returns `length` bits from `start`, aligned to a byte. Copies only if `start` is not aligned. */
export function sliceBits(bits: Uint8Array, start: number, length: number): Uint8Array {
  const first = start >> 3;
  const bytes = Math.ceil(length / 8);
  const shift = start & 7;
  if (shift === 0) return bits.subarray(first, first + bytes);
  const sliced = new Uint8Array(bytes);
  for (let i = 0; i < bytes; i++) {
    // Past the last byte, undefined counts as 0.
    sliced[i] = (bits[first + i] >> shift) | (bits[first + i + 1] << (8 - shift));
  }
  return sliced;
}

/** The size of a view: the length of a value, then either its bytes, or the index of a data buffer and an offset. */
export const VIEW_BYTES = 16;

/** The longest value a view holds inline. */
export const INLINE_BYTES = 12;

// Offsets within a view.
const INLINE_START = 4;
const PART = 8;
const START = 12;

/** Returns views in the form the functions below take. */
export function viewWords(views: Uint8Array): DataView {
  return new DataView(views.buffer, views.byteOffset, views.byteLength);
}

/** Returns the length of a row's value in bytes. */
export function viewLength(words: DataView, row: number): number {
  return words.getInt32(VIEW_BYTES * row, true);
}

/** Returns the index of the data buffer of a row whose value is not inline. */
export function viewPart(words: DataView, row: number): number {
  return words.getInt32(VIEW_BYTES * row + PART, true);
}

/** Returns the offset of a row's value in its data buffer. */
export function viewStart(words: DataView, row: number): number {
  return words.getInt32(VIEW_BYTES * row + START, true);
}

/** Returns the offset of a row's inline value. */
export function inlineStart(row: number): number {
  return VIEW_BYTES * row + INLINE_START;
}

/** Views and their data buffers. The view of a null row can be anything. */
interface ViewRows {
  readonly words: DataView;
  readonly rows: number;
  readonly parts: readonly Uint8Array[];
  readonly isNull: (row: number) => boolean;
}

/** Visits every row whose value is in a data buffer, with its length. */
function forEachLong({ words, rows, isNull }: ViewRows, visit: (row: number, length: number) => void): void {
  for (let row = 0; row < rows; row++) {
    const length = viewLength(words, row);
    if (length > INLINE_BYTES && !isNull(row)) visit(row, length);
  }
}

/** Sums the lengths of values in data buffers; more than `partBytes` if values overlap. */
export function usedBytes(views: ViewRows): number {
  let used = 0;
  forEachLong(views, (_, length) => (used += length));
  return used;
}

/** Sums the sizes of the data buffers. */
export function partBytes({ parts }: ViewRows): number {
  return parts.reduce((bytes, part) => bytes + part.length, 0);
}

/** Copies the values in data buffers to `target` from `at`, redirects the views, and returns the end. */
export function moveValues(views: ViewRows, target: Uint8Array, at: number): number {
  const { words, parts } = views;
  let end = at;
  clearNulls(views);
  forEachLong(views, (row, length) => {
    const start = viewStart(words, row);
    target.set(parts[viewPart(words, row)].subarray(start, start + length), end);
    setPlace(words, row, end);
    end += length;
  });
  return end;
}

/** Copies whole data buffers to `target` from `at`, redirects the views, and returns the end. */
export function moveParts(views: ViewRows, target: Uint8Array, at: number): number {
  const { words, parts } = views;
  const places: number[] = [];
  let end = at;
  for (const part of parts) {
    places.push(end);
    target.set(part, end);
    end += part.length;
  }
  clearNulls(views);
  forEachLong(views, (row) => setPlace(words, row, places[viewPart(words, row)] + viewStart(words, row)));
  return end;
}

/** The view of a null row could refer to a buffer that no longer exists. */
function clearNulls({ words, rows, isNull }: ViewRows): void {
  for (let row = 0; row < rows; row++) {
    if (!isNull(row)) continue;
    words.setBigInt64(VIEW_BYTES * row, 0n);
    words.setBigInt64(VIEW_BYTES * row + PART, 0n);
  }
}

function setPlace(words: DataView, row: number, start: number): void {
  words.setInt32(VIEW_BYTES * row + PART, 0, true);
  words.setInt32(VIEW_BYTES * row + START, start, true);
}

/** The ticks of a second in each unit of times. */
export const UNITS_PER_SECOND: Readonly<Record<TimeUnit, number>> = {
  [TimeUnit.SECOND]: 1,
  [TimeUnit.MILLISECOND]: 1_000,
  [TimeUnit.MICROSECOND]: 1_000_000,
  [TimeUnit.NANOSECOND]: 1_000_000_000,
};

/** Returns the nanoseconds of a tick of a unit. */
export function nanosecondsOf(unit: TimeUnit): bigint {
  return BigInt(1_000_000_000 / UNITS_PER_SECOND[unit]);
}

/** Reads an integer of several 32-bit words, the lowest first. */
export function integerAt(words: ArrayLike<number | bigint>, row: number, stride: number): bigint {
  let value = 0n;
  for (let i = stride - 1; i >= 0; i--) value = (value << 32n) | BigInt(words[row * stride + i] ?? 0);
  return BigInt.asIntN(32 * stride, value);
}
