import duckdb, { type Vector } from '@duckdb/node-bindings';
import type { BatchWriter } from '../../wire/batch.ts';
import type { ColumnReader } from './column-reader.ts';
import { GrowingBytes, GrowingValidity } from './growing-bytes.ts';
import type { IntervalUnit } from '../../wire/column-plans.ts';
import { TextReader } from './text-reader.ts';

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
    this.valid = duckdb.vector_get_validity(vector, ((rows + 63) >> 6) << 3);
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
    writeHead(out, this.validity);
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

/** Writes the head of every column. */
export function writeHead(out: BatchWriter, validity: GrowingValidity): void {
  out.word(validity.length);
  out.word(validity.nullCount);
  out.buffer(validity.bytes);
}

/** DuckDB stores decimals of up to 18 digits in fewer bytes than Arrow. */
export function createDecimalReader(precision: number): FixedReader {
  if (precision > 18) return new FixedReader(16);
  if (precision > 9)
    return new FixedReader(
      8,
      16,
      widen((from, row) => from.getBigInt64(8 * row, true)),
    );
  if (precision > 4)
    return new FixedReader(
      4,
      16,
      widen((from, row) => BigInt(from.getInt32(4 * row, true))),
    );
  return new FixedReader(
    2,
    16,
    widen((from, row) => BigInt(from.getInt16(2 * row, true))),
  );
}

function widen(valueAt: (from: DataView, row: number) => bigint): Convert {
  return (from, to, count) => {
    for (let row = 0; row < count; row++) {
      const value = valueAt(from, row);
      to.setBigInt64(16 * row, value, true);
      to.setBigInt64(16 * row + 8, value >> 63n, true);
    }
  };
}

/** DuckDB stores a UUID as a 128-bit integer with the first bit flipped, so that they sort. */
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
/** The most microseconds that fit into 64-bit nanoseconds. */
const MAX_MICROS = 9_223_372_036_854_775n;

/**
 * DuckDB's native intervals have microseconds. Those that overflow nanoseconds are carried over to days, with equal
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
    writeHead(out, this.validity);
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
    writeHead(out, this.validity);
  }
}

/**
 * Reads decimals and integers that are stored as text. The text always has all digits of the scale, so the unscaled
 * integer is the text without its point and exponent. Files of older versions have only the digits.
 */
export class DigitsReader extends TextReader {
  private readonly width: number;

  constructor(width: number) {
    super();
    this.width = width;
  }

  override write(out: BatchWriter): void {
    writeHead(out, this.validity);
    const rows = this.validity.length;
    const { bytes } = this.content;
    const digits = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const offsets = new Int32Array(this.offsets.array.buffer, this.offsets.array.byteOffset, rows + 1);
    const words = new BigUint64Array((rows * this.width) / 8);
    const wordsPerRow = this.width / 8;
    for (let row = 0; row < rows; row++) {
      const [start = 0, end = 0] = offsets.subarray(row, row + 2);
      const value = BigInt(digits.toString('latin1', start, end).replace(POINT_OR_EXPONENT, ''));
      for (let i = 0; i < wordsPerRow; i++) words[row * wordsPerRow + i] = BigInt.asUintN(64, value >> BigInt(64 * i));
    }
    out.buffer(new Uint8Array(words.buffer));
  }
}

const POINT_OR_EXPONENT = /\.|e.*/;

/** Reads intervals, which are stored as a struct of months, days and nanoseconds. */
export class IntervalReader implements ColumnReader {
  private readonly validity = new GrowingValidity();
  private readonly parts = [new FixedReader(4), new FixedReader(4), new FixedReader(8)] as const;
  private valid: Uint8Array | null = null;
  private readonly unit: IntervalUnit;

  constructor(unit: IntervalUnit) {
    this.unit = unit;
  }

  open(vector: Vector, rows: number): number {
    this.valid = duckdb.vector_get_validity(vector, ((rows + 63) >> 6) << 3);
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
    writeHead(out, this.validity);
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
