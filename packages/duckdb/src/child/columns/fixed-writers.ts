import type { DuckDBType } from '@duckdb/node-api';
import duckdb, { type Vector } from '@duckdb/node-bindings';
import { arrayOver, type BatchReader } from '../../wire/batch.ts';
import type { FixedType, IntervalUnit } from '../../wire/column-plans.ts';
import { DuckDBDecimalType, DuckDBStructType, PLAIN_TYPES } from '../node-api.ts';

/** Copies the buffers of an Arrow column to DuckDB vectors. */
export interface ColumnWriter {
  /** The type of the vectors. */
  readonly type: DuckDBType;
  /**
   * Loads the buffers of the next batch. If a row of the parent is null, so is the row of this column: Arrow allows any
   * value there, DuckDB does not.
   */
  load(batch: BatchReader, parent?: Validity): void;
  /** Copies rows of the batch to the start of a vector; returns their size in bytes when read back as Arrow. */
  fill(vector: Vector, start: number, count: number): number;
  /** True if the batch has a float -0, even in a null row. Absent for types without one. */
  readonly hasNegativeZero?: boolean;
}

/** A value cannot be stored; with its row in the batch. */
export class UnstorableValue extends Error {
  readonly row: number;

  constructor(row: number, message: string) {
    super(message);
    this.row = row;
  }
}

/** The rows of a batch column that have a value. */
export class Validity {
  length = 0;
  private bits: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  private bitOffset = 0;
  private shifted = new Uint8Array(256);

  /** Reads the head of every column: length, offset of the first bit in its byte, bits. */
  load(batch: BatchReader, parent?: Validity): void {
    this.length = batch.word();
    this.bitOffset = batch.word();
    this.bits = batch.buffer();
    if (parent?.hasNulls) this.restrict(parent);
  }

  /** Sets the validity from bits; without bits, every row has a value. */
  set(length: number, bits: Uint8Array<ArrayBuffer>): void {
    this.length = length;
    this.bitOffset = 0;
    this.bits = bits;
  }

  get hasNulls(): boolean {
    return this.bits.length > 0;
  }

  isValid(row: number): boolean {
    const at = this.bitOffset + row;
    return this.bits.length === 0 || (((this.bits[at >> 3] ?? 0) >> (at & 7)) & 1) === 1;
  }

  /** Marks the nulls among these rows; returns the size of their validity in Arrow. */
  fill(vector: Vector, start: number, count: number): number {
    if (!this.hasNulls) return 0;
    const bytes = (count + 7) >> 3;
    const { buffer, byteOffset } = this.bitsFrom(this.bitOffset + start, bytes);
    duckdb.vector_ensure_validity_writable(vector);
    duckdb.copy_data_to_vector_validity(vector, 0, buffer, byteOffset, bytes);
    return bytes;
  }

  /** Also marks the nulls of another column of the same length. */
  private restrict(other: Validity): void {
    if (!this.hasNulls) {
      this.bits = other.bits;
      this.bitOffset = other.bitOffset;
      return;
    }
    const bytes = (this.length + 7) >> 3;
    const both = this.bitsFrom(this.bitOffset, bytes).slice(0, bytes);
    const others = other.bitsFrom(other.bitOffset, bytes);
    for (let i = 0; i < bytes; i++) both[i] = (both[i] ?? 0) & (others[i] ?? 0);
    this.bits = both;
    this.bitOffset = 0;
  }

  private bitsFrom(at: number, bytes: number): Uint8Array<ArrayBuffer> {
    const first = at >> 3;
    const shift = at & 7;
    if (shift === 0) return this.bits.subarray(first, first + bytes);
    if (bytes > this.shifted.length) this.shifted = new Uint8Array(bytes);
    for (let i = 0; i < bytes; i++) {
      this.shifted[i] = ((this.bits[first + i] ?? 0) >> shift) | ((this.bits[first + i + 1] ?? 0) << (8 - shift));
    }
    return this.shifted;
  }
}

const NO_BYTES: Uint8Array<ArrayBuffer> = new Uint8Array(0);

/** Converts one value; throws if it cannot be stored. */
type ConvertValue = (from: DataView, row: number, to: DataView, at: number) => void;

/** Options of `FixedWriter`. */
export interface FixedOptions {
  readonly type: DuckDBType;
  /** The width of a value in the batch, in bytes; 0 for bits. */
  readonly width: number;
  /** The width of a value in the vector. */
  readonly outWidth: number;
  /** The width of a value when it is read back as Arrow. */
  readonly arrowWidth: number;
  /** Absent if the bytes are copied unchanged. */
  readonly convert?: ConvertValue;
}

/** Writes values of a fixed width. */
export class FixedWriter implements ColumnWriter {
  readonly type: DuckDBType;
  readonly validity = new Validity();
  values: Uint8Array<ArrayBuffer> = NO_BYTES;
  readonly options: FixedOptions;
  private converted = new DataView(new ArrayBuffer(0));

  get width(): number {
    return this.options.width;
  }

  constructor(options: FixedOptions) {
    this.options = options;
    this.type = options.type;
  }

  load(batch: BatchReader, parent?: Validity): void {
    this.validity.load(batch, parent);
    this.values = batch.buffer();
  }

  fill(vector: Vector, start: number, count: number): number {
    const { width, outWidth, arrowWidth, convert } = this.options;
    const { buffer, byteOffset } = this.values;
    if (convert === undefined) duckdb.copy_data_to_vector(vector, 0, buffer, byteOffset + start * width, count * width);
    else duckdb.copy_data_to_vector(vector, 0, this.convertAll(convert, start, count), 0, count * outWidth);
    return Math.ceil(count * arrowWidth) + this.validity.fill(vector, start, count);
  }

  private convertAll(convert: ConvertValue, start: number, count: number): ArrayBuffer {
    const { outWidth } = this.options;
    if (this.converted.byteLength < count * outWidth) this.converted = new DataView(new ArrayBuffer(count * outWidth));
    const { buffer, byteOffset, byteLength } = this.values;
    const from = new DataView(buffer, byteOffset, byteLength);
    for (let i = 0; i < count; i++) {
      if (this.validity.isValid(start + i)) convert(from, start + i, this.converted, i * outWidth);
    }
    return this.converted.buffer;
  }
}

/** Copies values unchanged. */
export function createCopyWriter(type: FixedType, width: number): FixedWriter {
  const options = { type: PLAIN_TYPES[type], width, outWidth: width, arrowWidth: width };
  return type === 'DOUBLE' || type === 'FLOAT' ? new FloatWriter(options) : new FixedWriter(options);
}

/** Writes floats: they can be -0. */
class FloatWriter extends FixedWriter {
  hasNegativeZero = false;

  override load(batch: BatchReader, parent?: Validity): void {
    super.load(batch, parent);
    this.hasNegativeZero = hasNegativeZero(this.values, this.width);
  }
}

function hasNegativeZero(values: Uint8Array<ArrayBuffer>, width: number): boolean {
  if (width === 2) return arrayOver(Uint16Array, values).includes(0x8000);
  const words = arrayOver(Uint32Array, values);
  if (width === 4) return words.includes(0x8000_0000);
  for (let i = 1; i < words.length; i += 2) {
    if (words[i] === 0x8000_0000 && words[i - 1] === 0) return true;
  }
  return false;
}

/** The largest value and its negation mean infinity and -infinity in both Arrow and DuckDB. */
const MAX_LONG = 2n ** 63n - 1n;
const MAX_INT = 2n ** 31n - 1n;

/** Multiplies integers by a factor. */
export function createScaleWriter(type: FixedType, width: 4 | 8, factor: number): FixedWriter {
  const wide = BigInt(factor);
  function convert(from: DataView, row: number, to: DataView, at: number): void {
    const value = width === 4 ? BigInt(from.getInt32(4 * row, true)) : from.getBigInt64(8 * row, true);
    const isEndless = value === MAX_LONG || value === -MAX_LONG;
    const scaled = isEndless ? value : value * wide;
    if (!isEndless && (scaled >= MAX_LONG || scaled <= -MAX_LONG)) {
      throw new UnstorableValue(row, `the time ${value} is out of the range of microseconds`);
    }
    to.setBigInt64(at, scaled, true);
  }
  return new FixedWriter({ type: PLAIN_TYPES[type], width, outWidth: 8, arrowWidth: 8, convert });
}

const DAY_MS = 86_400_000n;

/** Converts milliseconds to days. */
export function createDaysWriter(): FixedWriter {
  function convert(from: DataView, row: number, to: DataView, at: number): void {
    const millis = from.getBigInt64(8 * row, true);
    const isEndless = millis === MAX_LONG || millis === -MAX_LONG;
    const days = !isEndless ? millis / DAY_MS : millis > 0 ? MAX_INT : -MAX_INT;
    if (!isEndless && (days >= MAX_INT || days <= -MAX_INT)) {
      throw new UnstorableValue(row, `the date of ${millis} ms is out of the range of days in 32 bits`);
    }
    if (!isEndless && millis % DAY_MS !== 0n) {
      throw new UnstorableValue(row, `the date of ${millis} ms is not a whole day`);
    }
    to.setInt32(at, Number(days), true);
  }
  return new FixedWriter({ type: PLAIN_TYPES.DATE, width: 8, outWidth: 4, arrowWidth: 4, convert });
}

/** Converts 16-bit floats to 32-bit floats. */
export function createHalfWriter(): FixedWriter {
  function convert(from: DataView, row: number, to: DataView, at: number): void {
    const bits = from.getUint16(2 * row, true);
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    const sign = bits >> 15 === 1 ? -1 : 1;
    if (exponent === 31) to.setFloat32(at, fraction === 0 ? sign * Infinity : NaN, true);
    else if (exponent === 0) to.setFloat32(at, sign * fraction * 2 ** -24, true);
    else to.setFloat32(at, sign * (1 + fraction / 1024) * 2 ** (exponent - 15), true);
  }
  return new FloatWriter({ type: PLAIN_TYPES.FLOAT, width: 2, outWidth: 4, arrowWidth: 4, convert });
}

/** Converts bits to bytes. */
export function createBitWriter(): FixedWriter {
  function convert(from: DataView, row: number, to: DataView, at: number): void {
    to.setUint8(at, (from.getUint8(row >> 3) >> (row & 7)) & 1);
  }
  return new BitWriter({ type: PLAIN_TYPES.BOOLEAN, width: 0, outWidth: 1, arrowWidth: 0.125, convert });
}

/** The bits of the values have the same offset as those of the validity. */
class BitWriter extends FixedWriter {
  override load(batch: BatchReader, parent?: Validity): void {
    this.validity.load(batch, parent);
    const bitOffset = batch.word();
    const bits = batch.buffer();
    this.values = bitOffset === 0 ? bits : shiftBits(bits, bitOffset, this.validity.length);
  }
}

function shiftBits(bits: Uint8Array, shift: number, rows: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(
    { length: (rows + 7) >> 3 },
    (_, i) => ((bits[i] ?? 0) >> shift) | ((bits[i + 1] ?? 0) << (8 - shift)),
  );
}

/** Writes UUIDs. DuckDB stores them as integers with the first bit flipped. */
export function createUuidWriter(): FixedWriter {
  function convert(from: DataView, row: number, to: DataView, at: number): void {
    to.setUint32(at + 12, (from.getUint32(16 * row) ^ 0x80000000) >>> 0, true);
    to.setUint32(at + 8, from.getUint32(16 * row + 4), true);
    to.setBigUint64(at, from.getBigUint64(16 * row + 8), true);
  }
  return new FixedWriter({ type: PLAIN_TYPES.UUID, width: 16, outWidth: 16, arrowWidth: 16, convert });
}

/** Writes decimals, in DuckDB's width for their precision. */
export function createDecimalWriter(width: number, precision: number, scale: number): FixedWriter {
  const type = new DuckDBDecimalType(precision, scale);
  const outWidth = precision > 18 ? 16 : precision > 9 ? 8 : precision > 4 ? 4 : 2;
  if (outWidth === 16 && width === 16) return new FixedWriter({ type, width, outWidth, arrowWidth: 16 });
  const bits = 8 * outWidth;
  function convert(from: DataView, row: number, to: DataView, at: number): void {
    const value = integerAt(from, row, width);
    if (value !== BigInt.asIntN(bits, value)) {
      throw new UnstorableValue(row, `the digits ${value} do not fit into DECIMAL(${precision},${scale})`);
    }
    if (outWidth === 2) to.setInt16(at, Number(value), true);
    else if (outWidth === 4) to.setInt32(at, Number(value), true);
    else to.setBigInt64(at, BigInt.asIntN(64, value), true);
    if (outWidth === 16) to.setBigInt64(at + 8, value >> 64n, true);
  }
  return new FixedWriter({ type, width, outWidth, arrowWidth: 16, convert });
}

/** Reads a signed little-endian integer of 4 bytes or a multiple of 8. */
export function integerAt(from: DataView, row: number, width: number): bigint {
  if (width === 4) return BigInt(from.getInt32(4 * row, true));
  let value = from.getBigInt64(width * (row + 1) - 8, true);
  for (let at = width - 16; at >= 0; at -= 8) value = (value << 64n) | from.getBigUint64(width * row + at, true);
  return value;
}

/** Writes a struct without fields as a boolean. */
export class EmptyStructWriter implements ColumnWriter {
  readonly type = PLAIN_TYPES.BOOLEAN;
  private readonly validity = new Validity();

  load(batch: BatchReader, parent?: Validity): void {
    this.validity.load(batch, parent);
  }

  fill(vector: Vector, start: number, count: number): number {
    duckdb.copy_data_to_vector(vector, 0, new ArrayBuffer(count), 0, count);
    return this.validity.fill(vector, start, count);
  }
}

const INTERVAL_WIDTHS = { months: 4, days_millis: 8, months_days_nanos: 16 } as const;

/** Writes intervals as a struct of months, days and nanoseconds. */
export class IntervalWriter implements ColumnWriter {
  readonly type: DuckDBType;
  readonly validity = new Validity();
  values: Uint8Array<ArrayBuffer> = NO_BYTES;
  private readonly unit: IntervalUnit;

  constructor(unit: IntervalUnit) {
    this.unit = unit;
    this.type = new DuckDBStructType(
      ['months', 'days', 'nanos'],
      [PLAIN_TYPES.INTEGER, PLAIN_TYPES.INTEGER, PLAIN_TYPES.BIGINT],
    );
  }

  get width(): number {
    return INTERVAL_WIDTHS[this.unit];
  }

  load(batch: BatchReader, parent?: Validity): void {
    this.validity.load(batch, parent);
    this.values = batch.buffer();
  }

  fill(vector: Vector, start: number, count: number): number {
    const { width } = this;
    const from = new DataView(this.values.buffer, this.values.byteOffset, this.values.byteLength);
    const months = new Int32Array(count);
    const days = new Int32Array(count);
    const nanos = new BigInt64Array(count);
    for (let i = 0; i < count; i++) {
      const at = width * (start + i);
      if (this.unit !== 'days_millis') months[i] = from.getInt32(at, true);
      if (this.unit === 'days_millis') {
        days[i] = from.getInt32(at, true);
        nanos[i] = BigInt(from.getInt32(at + 4, true)) * 1_000_000n;
      } else if (this.unit === 'months_days_nanos') {
        days[i] = from.getInt32(at + 4, true);
        nanos[i] = from.getBigInt64(at + 8, true);
      }
    }
    for (const [i, part] of [months, days, nanos].entries()) {
      const child = duckdb.struct_vector_get_child(vector, i);
      duckdb.copy_data_to_vector(child, 0, part.buffer, 0, part.byteLength);
      this.validity.fill(child, start, count);
    }
    return width * count + this.validity.fill(vector, start, count);
  }
}
