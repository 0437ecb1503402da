import type { ServiceError } from '@svc/errors';
import type { ArrowBatch } from './arrow-batch.ts';
import type { TypedArrayType } from '../../columns/arrow-data.ts';
import { countBits } from '../../columns/bits.ts';
import { INLINE_BYTES, VIEW_BYTES, viewLength, viewPart, viewStart, viewWords } from '../../columns/views.ts';
import { type ColumnData, isNullAt, type Values } from '../../columns/column-data.ts';

/** The context for loading a column: its batch, and its errors. */
export interface Loading {
  readonly batch: ArrowBatch;
  /** Returns the values of a dictionary; undefined if they have not arrived. */
  readonly dictionary: (id: number) => ColumnData | undefined;
  readonly fault: (what: string, hint?: string) => ServiceError;
}

/** The part common to all columns. */
export type ColumnHead = Pick<ColumnData, 'length' | 'nullCount' | 'validity'>;

/** The start and end of each row. */
export type Offsets = NonNullable<ColumnData['offsets']>;

/** Returns the next buffer as an array of exactly `rows` rows. Rows of a multiple of 8 bytes are aligned to 8 bytes. */
export function loadValues<Elements extends Values>(
  type: TypedArrayType<Elements>,
  rows: number,
  { batch, fault }: Loading,
  elementsPerRow = 1,
): Elements {
  const bytes = batch.nextBuffer();
  const rowBytes = elementsPerRow * type.BYTES_PER_ELEMENT;
  const size = rows * rowBytes;
  if (bytes.length < size) throw fault(`a buffer has ${bytes.length} bytes, but its rows need ${size}`);
  // An empty view would keep the whole body in memory.
  if (rows === 0) return new type(0);
  const alignment = rowBytes % 8 === 0 ? 8 : type.BYTES_PER_ELEMENT;
  if (bytes.byteOffset % alignment === 0) return new type(bytes.buffer, bytes.byteOffset, rows * elementsPerRow);
  const aligned = batch.allocate(size);
  aligned.set(bytes.subarray(0, size));
  return new type(aligned.buffer, 0, rows * elementsPerRow);
}

/** Loads the validity bitmap of a column; omitted if no row is null. */
export function loadValidity(length: number, nullCount: number, { batch, fault }: Loading): { validity?: Bits } {
  const bits = batch.nextBuffer();
  if (bits.length === 0 && nullCount === 0) return {};
  const bytes = Math.ceil(length / 8);
  if (bits.length < bytes) throw fault(`its validity bitmap has ${bits.length} bytes, but its rows need ${bytes}`);
  const counted = length - countBits(bits, length);
  if (counted !== nullCount) {
    throw fault(`its null count is ${nullCount}, but ${counted} ${counted === 1 ? 'value is' : 'values are'} null`);
  }
  return nullCount === 0 ? {} : { validity: bits.subarray(0, bytes) };
}

type Bits = Uint8Array<ArrayBuffer>;

/** Loads the offsets of `length` rows, with 64 bits if `isWide`. They are not checked yet. */
export function loadOffsets(isWide: boolean, length: number, loading: Loading): Offsets {
  const offsetType: TypedArrayType<Offsets> = isWide ? BigInt64Array : Int32Array;
  if (length > 0) return loadValues(offsetType, length + 1, loading);
  // The format allows a column without rows to omit its only offset.
  loading.batch.nextBuffer();
  return new offsetType(1);
}

/** Checks that offsets never decrease, and stay within their data. */
export function checkOffsets(offsets: Offsets, limit: number, fault: Loading['fault']): void {
  const isWide = offsets instanceof BigInt64Array;
  const words = isWide ? new Uint32Array(offsets.buffer, offsets.byteOffset, 2 * offsets.length) : offsets;
  let previous = 0;
  for (let row = 0; row < offsets.length; row++) {
    const offset = isWide ? words[2 * row] + words[2 * row + 1] * 2 ** 32 : words[row];
    if (!(offset >= previous && offset <= limit)) {
      throw fault(`offset ${offsets[row]} of row ${row} is less than the previous one, or beyond its data`);
    }
    previous = offset;
  }
}

/** Loads views and their data buffers. */
export function loadViews(head: ColumnHead, loading: Loading): Pick<ColumnData, 'values' | 'parts'> {
  const { batch, fault } = loading;
  const values = loadValues(Uint8Array, head.length, loading, VIEW_BYTES);
  const parts = Array.from({ length: batch.nextPartCount() }, () => batch.nextBuffer());
  const words = viewWords(values);
  for (let row = 0; row < head.length; row++) {
    if (isNullAt(head, row)) continue;
    const length = viewLength(words, row);
    if (length >= 0 && length <= INLINE_BYTES) continue;
    const part = parts[viewPart(words, row)];
    const start = viewStart(words, row);
    if (part === undefined || length < 0 || start < 0 || start + length > part.length) {
      throw fault(`the view of row ${row} points outside its data`);
    }
  }
  return { values, parts };
}
