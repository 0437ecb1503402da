import duckdb, { type Vector } from '@duckdb/node-bindings';
import type { BatchWriter } from '../../wire/batch.ts';
import type { IntervalUnit } from '../../wire/column-plans.ts';

/** Converts DuckDB vectors to the buffers of an Arrow column, one vector at a time. */
export interface ColumnReader {
  /** Opens a vector; keep it alive until all its rows are taken. Returns their approximate size in bytes. */
  open(vector: Vector, rows: number): number;
  /** Adds rows of the open vector. */
  take(start: number, count: number): void;
  /** The approximate number of bytes added since `clear`. */
  readonly bytes: number;
  /** Writes the added rows: length, null count, validity, then the buffers of the type. */
  write(out: BatchWriter): void;
  clear(): void;
}

/** A growing buffer. Its memory is reused after `clear`. */
export class GrowingBytes {
  array = new Uint8Array(1024);
  length = 0;

  /** Ensures capacity for at most this many bytes. */
  reserve(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.array.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.array.length));
    larger.set(this.bytes);
    this.array = larger;
  }

  /** Extends the buffer; returns the offset of the new bytes. */
  grow(bytes: number): number {
    const start = this.length;
    this.reserve(bytes);
    this.length = start + bytes;
    return start;
  }

  get bytes(): Uint8Array {
    return this.array.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
    // One huge value must not keep its memory for the rest of the read.
    if (this.array.length > MAX_REUSED_BYTES) this.array = new Uint8Array(1024);
  }
}

const MAX_REUSED_BYTES = 8 * 1024 * 1024;

/** Growing 32-bit offsets, starting with 0. */
export class GrowingOffsets extends GrowingBytes {
  constructor() {
    super();
    this.clear();
  }

  /** Extends the offsets by a count; returns all of them, and the index of the first new one. */
  add(count: number): { readonly offsets: Int32Array; readonly at: number } {
    const at = this.grow(4 * count) / 4;
    return { offsets: this.values, at };
  }

  get values(): Int32Array {
    return new Int32Array(this.array.buffer, this.array.byteOffset);
  }

  override clear(): void {
    super.clear();
    this.array.fill(0, 0, 4);
    this.grow(4);
  }
}

/** A validity bitmap, allocated when the first null is added. */
export class GrowingValidity {
  length = 0;
  nullCount = 0;
  private bits = new Uint8Array(1024);
  private hasBits = false;

  /** Adds rows `start` to `start + count` of a vector; `validity` is null if all have a value. */
  add(validity: Uint8Array | null, start: number, count: number): void {
    if (validity === null && !this.hasBits) {
      this.length += count;
      return;
    }
    this.reserve(count);
    if (validity === null) this.fill(this.length, count);
    else if ((this.length & 7) === 0 && (start & 7) === 0) this.addBytes(validity, start, count);
    else this.addBits(validity, start, count);
    this.length += count;
  }

  isValid(row: number): boolean {
    return !this.hasBits || (((this.bits[row >> 3] ?? 0) >> (row & 7)) & 1) === 1;
  }

  /** Zeroes the values of null rows, each of `width` bytes: a power of two. */
  clearNulls({ buffer, byteOffset }: Uint8Array<ArrayBuffer>, width: number): void {
    if (this.nullCount === 0) return;
    const ItemArray = ARRAYS.find(({ BYTES_PER_ELEMENT }) => BYTES_PER_ELEMENT === width) ?? Float64Array;
    const perRow = width / ItemArray.BYTES_PER_ELEMENT;
    const items = new ItemArray(buffer, byteOffset, this.length * perRow);
    for (let row = 0; row < this.length; row++) {
      const byte = this.bits[row >> 3] ?? 0;
      if (byte === 255) row |= 7;
      else if (((byte >> (row & 7)) & 1) === 0) {
        for (let i = row * perRow; i < (row + 1) * perRow; i++) items[i] = 0;
      }
    }
  }

  /** Writes the head of every column: length, null count, and the bits; none if no row is null. */
  write(out: BatchWriter): void {
    out.word(this.length);
    out.word(this.nullCount);
    out.buffer(this.bits.subarray(0, this.nullCount === 0 ? 0 : (this.length + 7) >> 3));
  }

  clear(): void {
    this.length = 0;
    this.nullCount = 0;
    this.hasBits = false;
  }

  private reserve(count: number): void {
    const needed = ((this.length + count + 7) >> 3) + 8;
    if (needed > this.bits.length) {
      const larger = new Uint8Array(Math.max(needed, 2 * this.bits.length));
      larger.set(this.bits);
      this.bits = larger;
    }
    if (this.hasBits) return;
    this.hasBits = true;
    this.fill(0, this.length);
  }

  private fill(from: number, count: number): void {
    const end = from + count;
    if (count === 0) return;
    const first = from >> 3;
    // Keep the bits before `from`; those after the end are written before they are read.
    const kept = (this.bits[first] ?? 0) & ((1 << (from & 7)) - 1);
    this.bits.fill(255, first, (end + 7) >> 3);
    this.bits[first] = kept | (255 << (from & 7));
  }

  private addBytes(validity: Uint8Array, start: number, count: number): void {
    const bytes = (count + 7) >> 3;
    const at = this.length >> 3;
    this.bits.set(validity.subarray(start >> 3, (start >> 3) + bytes), at);
    let valid = 0;
    const whole = count >> 3;
    for (let i = 0; i < whole; i++) valid += BIT_COUNTS[this.bits[at + i] ?? 0] ?? 0;
    if ((count & 7) !== 0) valid += BIT_COUNTS[(this.bits[at + whole] ?? 0) & ((1 << (count & 7)) - 1)] ?? 0;
    this.nullCount += count - valid;
  }

  private addBits(validity: Uint8Array, start: number, count: number): void {
    for (let i = 0; i < count; i++) {
      const at = this.length + i;
      const mask = 1 << (at & 7);
      const byte = (this.bits[at >> 3] ?? 0) & ~mask;
      const isValid = ((validity[(start + i) >> 3] ?? 0) >> ((start + i) & 7)) & 1;
      this.bits[at >> 3] = isValid === 1 ? byte | mask : byte;
      this.nullCount += 1 - isValid;
    }
  }
}

/** The arrays of items shorter than 8 bytes. */
const ARRAYS = [Uint8Array, Uint16Array, Uint32Array];

const BIT_COUNTS = Uint8Array.from({ length: 256 }, (_, byte) => {
  let bits = 0;
  for (let rest = byte; rest > 0; rest >>= 1) bits += rest & 1;
  return bits;
});

/** Converts the values in `from` to Arrow's; `to` starts at offset 0. */
type Convert = (from: DataView, to: DataView, count: number) => void;

/** Reads values of a fixed width. */
export class FixedReader implements ColumnReader {
  readonly validity = new GrowingValidity();
  readonly values = new GrowingBytes();
  private raw: Uint8Array = new Uint8Array(0);
  private valid: Uint8Array | null = null;
  readonly width: number;
  private readonly outWidth: number;
  private readonly convert: Convert | undefined;

  /** Without `convert`, the bytes are copied unchanged. */
  constructor(width: number, outWidth = width, convert?: Convert) {
    this.width = width;
    this.outWidth = outWidth;
    this.convert = convert;
  }

  open(vector: Vector, rows: number): number {
    this.raw = duckdb.vector_get_data(vector, rows * this.width);
    this.valid = validityOf(vector, rows);
    return rows * this.outWidth;
  }

  take(start: number, count: number): void {
    this.validity.add(this.valid, start, count);
    const { raw, width } = this;
    const from = count * width === raw.length ? raw : raw.subarray(start * width, (start + count) * width);
    const at = this.values.grow(count * this.outWidth);
    const { array } = this.values;
    if (this.convert === undefined) array.set(from, at);
    else this.convert(viewOf(from), viewOf(array.subarray(at)), count);
  }

  get bytes(): number {
    return this.values.length;
  }

  /** The values. In rows that are null, DuckDB leaves what was in its memory before: rows of other frames, for example. */
  finish(): Uint8Array {
    this.validity.clearNulls(this.values.array, this.outWidth);
    return this.values.bytes;
  }

  write(out: BatchWriter): void {
    this.validity.write(out);
    out.buffer(this.finish());
  }

  clear(): void {
    this.validity.clear();
    this.values.clear();
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Returns the validity bits of a vector; null if all rows have a value. */
export function validityOf(vector: Vector, rows: number): Uint8Array | null {
  return duckdb.vector_get_validity(vector, ((rows + 63) >> 6) << 3);
}

/** DuckDB stores decimals of up to 18 digits in fewer bytes than Arrow. */
export function createDecimalReader(precision: number): FixedReader {
  if (precision > 18) return new FixedReader(16);
  if (precision > 9) return createWideningReader(8, (from, at) => from.getBigInt64(at, true));
  if (precision > 4) return createWideningReader(4, (from, at) => BigInt(from.getInt32(at, true)));
  return createWideningReader(2, (from, at) => BigInt(from.getInt16(at, true)));
}

function createWideningReader(width: number, valueAt: (from: DataView, at: number) => bigint): FixedReader {
  return new FixedReader(width, 16, (from, to, count) => {
    for (let row = 0; row < count; row++) {
      const value = valueAt(from, width * row);
      to.setBigInt64(16 * row, value, true);
      to.setBigInt64(16 * row + 8, value >> 63n, true);
    }
  });
}

/** DuckDB stores a UUID as a 128-bit integer with the first bit flipped: so they sort. */
export function createUuidReader(): FixedReader {
  return new FixedReader(16, 16, (from, to, count) => {
    for (let row = 0; row < count; row++) {
      to.setUint32(16 * row, (from.getUint32(16 * row + 12, true) ^ 0x80000000) >>> 0);
      to.setUint32(16 * row + 4, from.getUint32(16 * row + 8, true));
      to.setBigUint64(16 * row + 8, from.getBigUint64(16 * row, true));
    }
  });
}

const MICROS_PER_DAY = 86_400_000_000n;
/** The most microseconds in 64-bit nanoseconds. */
const MAX_MICROS = 9_223_372_036_854_775n;

/**
 * DuckDB's native intervals have microseconds. If they overflow nanoseconds, they are carried over to days, with equal
 * meaning.
 */
export function createDuckdbIntervalReader(): FixedReader {
  return new FixedReader(16, 16, (from, to, count) => {
    for (let row = 0; row < count; row++) {
      const at = 16 * row;
      const micros = from.getBigInt64(at + 8, true);
      const days = micros > MAX_MICROS || micros < -MAX_MICROS ? micros / MICROS_PER_DAY : 0n;
      to.setInt32(at, from.getInt32(at, true), true);
      to.setInt32(at + 4, from.getInt32(at + 4, true) + Number(days), true);
      to.setBigInt64(at + 8, (micros - days * MICROS_PER_DAY) * 1000n, true);
    }
  });
}

/** Booleans are bytes in DuckDB, bits in Arrow. */
export class BitReader extends FixedReader {
  constructor() {
    super(1);
  }

  override write(out: BatchWriter): void {
    this.validity.write(out);
    this.finish();
    const { array, length } = this.values;
    const bits = new Uint8Array((length + 7) >> 3);
    const words = new Uint32Array(array.buffer, array.byteOffset, 2 * (length >> 3));
    for (let i = 0; i < length >> 3; i++) bits[i] = lowBits(words[2 * i] ?? 0) | (lowBits(words[2 * i + 1] ?? 0) << 4);
    for (let row = length & ~7; row < length; row++) {
      bits[row >> 3] = (bits[row >> 3] ?? 0) | (((array[row] ?? 0) & 1) << (row & 7));
    }
    out.buffer(bits);
  }
}

/** Packs the lowest bit of each byte of a word: the multiplication moves all four to the top. */
function lowBits(word: number): number {
  return Math.imul(word & 0x01010101, 0x10204080) >>> 28;
}

/** A struct without fields is stored as a boolean; only its validity matters. */
export class EmptyStructReader extends FixedReader {
  constructor() {
    super(1);
  }

  override write(out: BatchWriter): void {
    this.validity.write(out);
  }
}

/** Reads intervals, stored as a struct of months, days and nanoseconds. */
export class IntervalReader implements ColumnReader {
  private readonly validity = new GrowingValidity();
  private readonly parts = [new FixedReader(4), new FixedReader(4), new FixedReader(8)] as const;
  private valid: Uint8Array | null = null;
  private readonly unit: IntervalUnit;

  constructor(unit: IntervalUnit) {
    this.unit = unit;
  }

  open(vector: Vector, rows: number): number {
    this.valid = validityOf(vector, rows);
    for (const [i, part] of this.parts.entries()) part.open(duckdb.struct_vector_get_child(vector, i), rows);
    return 16 * rows;
  }

  take(start: number, count: number): void {
    this.validity.add(this.valid, start, count);
    for (const part of this.parts) part.take(start, count);
  }

  get bytes(): number {
    return 16 * this.validity.length;
  }

  write(out: BatchWriter): void {
    this.validity.write(out);
    const rows = this.validity.length;
    const [months, days, nanos] = this.parts.map((part) => viewOf(part.finish()));
    if (months === undefined || days === undefined || nanos === undefined) return;
    if (this.unit === 'months') {
      out.buffer(this.parts[0].values.bytes);
      return;
    }
    const values = new DataView(new ArrayBuffer(rows * (this.unit === 'days_millis' ? 8 : 16)));
    for (let row = 0; row < rows; row++) {
      if (this.unit === 'days_millis') {
        values.setInt32(8 * row, days.getInt32(4 * row, true), true);
        values.setInt32(8 * row + 4, Number(nanos.getBigInt64(8 * row, true) / 1_000_000n), true);
      } else {
        values.setInt32(16 * row, months.getInt32(4 * row, true), true);
        values.setInt32(16 * row + 4, days.getInt32(4 * row, true), true);
        values.setBigInt64(16 * row + 8, nanos.getBigInt64(8 * row, true), true);
      }
    }
    out.buffer(new Uint8Array(values.buffer));
  }

  clear(): void {
    this.validity.clear();
    for (const part of this.parts) part.clear();
  }
}
