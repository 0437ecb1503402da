import type { ServiceError } from '@svc/errors';
import type { ArrowBatch } from './arrow-batch.ts';
import type { ColumnData, Values } from './column-data.ts';

/** What loading a column needs: the batch that is taken apart, and the errors of that column. */
export interface Loading {
  readonly batch: ArrowBatch;
  readonly dictionaryLength: (id: number) => number;
  readonly fault: (what: string) => ServiceError;
}

/** What every column has. */
export type ColumnHead = Pick<ColumnData, 'length' | 'nullCount' | 'validity'>;

/** Where each row of a column begins and ends. */
export type Offsets = NonNullable<ColumnData['offsets']>;

interface TypedArrayType<Elements extends Values> {
  readonly BYTES_PER_ELEMENT: number;
  new (length: number): Elements;
  new (buffer: ArrayBuffer, byteOffset: number, length: number): Elements;
}

/** The next buffer as an array of exactly so many rows. Rows of 8 bytes and their multiples begin at a multiple of 8. */
export function loadValues<Elements extends Values>(
  type: TypedArrayType<Elements>,
  rows: number,
  { batch, fault }: Loading,
  elementsPerRow = 1,
): Elements {
  const bytes = batch.nextBuffer();
  const rowBytes = elementsPerRow * type.BYTES_PER_ELEMENT;
  const size = rows * rowBytes;
  if (bytes.length < size) throw fault(`a buffer has ${bytes.length} bytes where its rows need ${size}`);
  // An empty view would keep the whole body in memory.
  if (rows === 0) return new type(0);
  const alignment = rowBytes % 8 === 0 ? 8 : type.BYTES_PER_ELEMENT;
  if (bytes.byteOffset % alignment === 0) return new type(bytes.buffer, bytes.byteOffset, rows * elementsPerRow);
  const aligned = batch.allocate(size);
  aligned.set(bytes.subarray(0, size));
  return new type(aligned.buffer, 0, rows * elementsPerRow);
}

/** The bitmap of a column, left out where no row is null. */
export function loadValidity(length: number, nullCount: number, { batch, fault }: Loading): { validity?: Bits } {
  const bits = batch.nextBuffer();
  if (bits.length === 0 && nullCount === 0) return {};
  const bytes = Math.ceil(length / 8);
  if (bits.length < bytes) throw fault(`its validity bitmap has ${bits.length} bytes where its rows need ${bytes}`);
  const counted = length - countBits(bits, length);
  if (counted !== nullCount) throw fault(`it says that ${nullCount} values are null, but ${counted} are`);
  return nullCount === 0 ? {} : { validity: bits.subarray(0, bytes) };
}

type Bits = Uint8Array<ArrayBuffer>;

function countBits(bits: Bits, length: number): number {
  let count = 0;
  const whole = length >> 3;
  for (let i = 0; i < whole; i++) count += BITS_SET[bits[i]];
  return length % 8 === 0 ? count : count + BITS_SET[bits[whole] & ((1 << (length % 8)) - 1)];
}

const BITS_SET = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);

/** Whether a row is null. */
export function isNullAt({ validity }: ColumnHead, row: number): boolean {
  return validity !== undefined && (validity[row >> 3] & (1 << (row & 7))) === 0;
}

/** The offsets of so many rows, of 64 bits where they are wide; not checked yet. */
export function loadOffsets(isWide: boolean, length: number, loading: Loading): Offsets {
  const offsetType: TypedArrayType<Offsets> = isWide ? BigInt64Array : Int32Array;
  if (length > 0) return loadValues(offsetType, length + 1, loading);
  // The format lets a column without rows leave its only offset out.
  loading.batch.nextBuffer();
  return new offsetType(1);
}

/** Offsets never go back, and stay inside of what they point to. */
export function checkOffsets(offsets: Offsets, limit: number, fault: Loading['fault']): void {
  const isWide = offsets instanceof BigInt64Array;
  const words = isWide ? new Uint32Array(offsets.buffer, offsets.byteOffset, 2 * offsets.length) : offsets;
  let previous = 0;
  for (let row = 0; row < offsets.length; row++) {
    const offset = isWide ? words[2 * row] + words[2 * row + 1] * 2 ** 32 : words[row];
    if (!(offset >= previous && offset <= limit)) {
      throw fault(`offset ${offsets[row]} of row ${row} is before the one of the row before it, or beyond its data`);
    }
    previous = offset;
  }
}

/** Views: 16 bytes a row, either the bytes themselves or where in which data buffer they are. */
export function loadViews(head: ColumnHead, loading: Loading): Pick<ColumnData, 'values' | 'parts'> {
  const { batch, fault } = loading;
  const values = loadValues(Uint8Array, head.length, loading, 16);
  const parts = Array.from({ length: batch.nextPartCount() }, () => batch.nextBuffer());
  const words = new DataView(values.buffer, values.byteOffset, values.byteLength);
  for (let row = 0; row < head.length; row++) {
    if (isNullAt(head, row)) continue;
    const length = words.getInt32(16 * row, true);
    if (length >= 0 && length <= 12) continue;
    const part = parts[words.getInt32(16 * row + 8, true)];
    const start = words.getInt32(16 * row + 12, true);
    if (part === undefined || length < 0 || start < 0 || start + length > part.length) {
      throw fault(`the view of row ${row} points outside of its data`);
    }
  }
  return { values, parts };
}
