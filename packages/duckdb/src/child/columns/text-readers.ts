import duckdb, { type Vector } from '@duckdb/node-bindings';
import type { BatchWriter } from '../../wire/batch.ts';
import type { Int96Unit } from '../../wire/column-plans.ts';
import { UnstorableValue } from './fixed-writers.ts';
import { type ColumnReader, GrowingBytes, GrowingOffsets, GrowingValidity, validityOf } from './fixed-readers.ts';

/** A string in a DuckDB vector: its length, then its bytes if they fit into 12, else the first 4 and a pointer. */
const TEXT_BYTES = 16;
const MAX_INLINE = 12;

/**
 * Strings this close together are fetched in one call. It must be less than a page (4096 bytes): then everything between
 * two strings is on a page with one of them, and reading it cannot fault.
 */
const MAX_GAP = 1024;
/** A call ends with the first string beyond this many bytes. */
const MAX_FETCH = 16 * 1024 * 1024;

/** Reads strings or bytes. Those not inlined in the vector are fetched in few calls. */
export class TextReader implements ColumnReader {
  readonly validity = new GrowingValidity();
  readonly offsets = new GrowingOffsets();
  readonly content = new GrowingBytes();
  private raw: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  private words = new Uint32Array(0);
  private valid: Uint8Array | null = null;
  private longest = 0;
  private readonly heap = new HeapTexts();

  open(vector: Vector, rows: number): number {
    // `vector_get_data` copies, so the bytes are at the start of a separate buffer.
    this.raw = ownBytes(duckdb.vector_get_data(vector, rows * TEXT_BYTES));
    this.words = new Uint32Array(this.raw.buffer, 0, rows * 4);
    this.valid = validityOf(vector, rows);
    const { words, valid } = this;
    if (valid !== null) clearNulls(words, valid, rows);
    let bytes = 4 * rows;
    this.longest = 0;
    for (let row = 0; row < rows; row++) {
      const length = words[4 * row] ?? 0;
      bytes += length;
      if (length > this.longest) this.longest = length;
    }
    return bytes;
  }

  take(start: number, count: number): void {
    this.validity.add(this.valid, start, count);
    const isShort = this.longest <= MAX_INLINE && this.content.length + MAX_INLINE * count <= MAX_CONTENT;
    if (isShort) this.takeShort(start, count);
    else this.takeAny(start, count);
  }

  /** Takes rows whose strings are all inlined. Copies all 12 bytes; the next string overwrites the excess. */
  private takeShort(start: number, count: number): void {
    const { words, content } = this;
    let at = content.length;
    content.reserve(MAX_INLINE * count);
    const { buffer, byteOffset, byteLength } = content.array;
    const target = new DataView(buffer, byteOffset, byteLength);
    const { offsets, at: offsetsAt } = this.offsets.add(count);
    for (let i = 0; i < count; i++) {
      const word = 4 * (start + i);
      target.setUint32(at, words[word + 1] ?? 0, true);
      target.setUint32(at + 4, words[word + 2] ?? 0, true);
      target.setUint32(at + 8, words[word + 3] ?? 0, true);
      at += words[word] ?? 0;
      offsets[offsetsAt + i] = at;
    }
    content.length = at;
  }

  private takeAny(start: number, count: number): void {
    const { words, raw, heap, content } = this;
    let total = 0;
    heap.begin(count);
    for (let i = 0; i < count; i++) {
      const at = 4 * (start + i);
      const length = words[at] ?? 0;
      total += length;
      if (length > MAX_INLINE) heap.add(i, (words[at + 3] ?? 0) * 2 ** 32 + (words[at + 2] ?? 0), length);
    }
    if (content.length + total > MAX_CONTENT) throw new Error('The texts of one row take more than 2 GiB.');
    heap.fetch(raw.buffer, start);
    let at = content.grow(total);
    const target = content.array;
    const { offsets, at: offsetsAt } = this.offsets.add(count);
    // Strings adjacent in memory are copied together.
    const run = { segment: -1, from: 0, length: 0 };
    for (let i = 0; i < count; i++) {
      const row = start + i;
      const length = words[4 * row] ?? 0;
      if (length <= MAX_INLINE) {
        const from = TEXT_BYTES * row + 4;
        for (let k = 0; k < length; k++) target[at + k] = raw[from + k] ?? 0;
        if (length > 0) heap.copyRun(run, target, at);
      } else if (!heap.extendRun(run, i, length)) {
        heap.copyRun(run, target, at);
        heap.beginRun(run, i, length);
      }
      at += length;
      offsets[offsetsAt + i] = at;
    }
    heap.copyRun(run, target, at);
    heap.begin(0);
  }

  /** Returns an added row as a string. */
  textAt(row: number): string | null {
    if (!this.validity.isValid(row)) return null;
    const offsets = this.offsets.values;
    return Buffer.from(this.content.bytes.subarray(offsets[row], offsets[row + 1])).toString();
  }

  get bytes(): number {
    return this.content.length + this.offsets.length;
  }

  write(out: BatchWriter): void {
    this.validity.write(out);
    out.buffer(this.offsets.bytes);
    out.buffer(this.content.bytes);
  }

  clear(): void {
    this.validity.clear();
    this.content.clear();
    this.offsets.clear();
  }
}

const MAX_CONTENT = 2 ** 31 - 1;

/** Sets the length of null rows to 0. */
function clearNulls(words: Uint32Array, valid: Uint8Array, rows: number): void {
  for (let row = 0; row < rows; row++) {
    if ((((valid[row >> 3] ?? 0) >> (row & 7)) & 1) === 0) words[4 * row] = 0;
  }
}

/**
 * Returns the bytes at offset 0 of an ArrayBuffer. Copies only if they are elsewhere; those of the native library are
 * not.
 */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset } = bytes;
  return buffer instanceof ArrayBuffer && byteOffset === 0 ? new Uint8Array(buffer, 0, bytes.length) : bytes.slice();
}

/** The strings of a vector outside of it. */
class HeapTexts {
  private addresses = new Float64Array(0);
  private segments = new Int32Array(0);
  private places = new Int32Array(0);
  private lengths = new Int32Array(0);
  private rows = new Int32Array(0);
  private count = 0;
  private views: Uint8Array[] = [];

  begin(rows: number): void {
    this.count = 0;
    this.views = [];
    if (rows <= this.addresses.length) return;
    this.addresses = new Float64Array(rows);
    this.segments = new Int32Array(rows);
    this.places = new Int32Array(rows);
    this.lengths = new Int32Array(rows);
    this.rows = new Int32Array(rows);
  }

  add(row: number, address: number, length: number): void {
    this.addresses[this.count] = address;
    this.lengths[this.count] = length;
    this.rows[this.count++] = row;
  }

  /** Fetches every string; `vector` holds the pointers, from row `start` on. */
  fetch(vector: ArrayBuffer, start: number): void {
    // In row order if possible: the strings are adjacent in memory unless the file has a dictionary.
    const isOrdered = this.countRuns() <= MIN_RUNS + this.count / 8;
    this.fetchRuns(vector, start, isOrdered ? undefined : this.inOrderOfAddress());
  }

  private countRuns(): number {
    const { addresses, lengths, count } = this;
    let runs = 0;
    let end = -1;
    for (let i = 0; i < count; i++) {
      const address = addresses[i] ?? 0;
      if (address < end || address > end + MAX_GAP) runs++;
      end = address + (lengths[i] ?? 0);
    }
    return runs;
  }

  private fetchRuns(vector: ArrayBuffer, firstRow: number, order: Int32Array | undefined): void {
    const { addresses, lengths, rows, count } = this;
    for (let i = 0; i < count;) {
      const first = order?.[i] ?? i;
      const start = addresses[first] ?? 0;
      let end = start;
      const segment = this.views.length;
      for (; i < count; i++) {
        const at = order?.[i] ?? i;
        const address = addresses[at] ?? 0;
        if (address < start || address > end + MAX_GAP || end - start > MAX_FETCH) break;
        end = Math.max(end, address + (lengths[at] ?? 0));
        const row = rows[at] ?? 0;
        this.segments[row] = segment;
        this.places[row] = address - start;
      }
      this.views.push(
        duckdb.get_data_from_pointer(vector, TEXT_BYTES * (firstRow + (rows[first] ?? 0)) + 8, end - start),
      );
    }
  }

  beginRun(run: Run, row: number, length: number): void {
    run.segment = this.segments[row] ?? 0;
    run.from = this.places[row] ?? 0;
    run.length = length;
  }

  /** Adds a string to the run and returns true if it follows directly. */
  extendRun(run: Run, row: number, length: number): boolean {
    if (run.length === 0 || this.segments[row] !== run.segment || this.places[row] !== run.from + run.length)
      return false;
    run.length += length;
    return true;
  }

  /** Copies a run to the bytes before `end`, and clears it. */
  copyRun(run: Run, target: Uint8Array, end: number): void {
    const { from, length } = run;
    if (length === 0) return;
    const view = this.views[run.segment] ?? target;
    const at = end - length;
    if (length < 48) for (let k = 0; k < length; k++) target[at + k] = view[from + k] ?? 0;
    else target.set(view.subarray(from, from + length), at);
    run.length = 0;
  }

  private inOrderOfAddress(): Int32Array {
    const { addresses, count } = this;
    const used = addresses.subarray(0, count);
    const least = used.reduce((a, b) => Math.min(a, b), Infinity);
    const most = used.reduce((a, b) => Math.max(a, b), 0);
    if ((most - least + 1) * count > Number.MAX_SAFE_INTEGER) {
      return Int32Array.from({ length: count }, (_, i) => i).toSorted((a, b) => (used[a] ?? 0) - (used[b] ?? 0));
    }
    // Address and index in one number: sorting numbers is many times faster than sorting with a comparator.
    const keys = used.map((address, i) => (address - least) * count + i).toSorted();
    return Int32Array.from(keys, (key) => key % count);
  }
}

/** A run of adjacent strings. */
interface Run {
  segment: number;
  from: number;
  length: number;
}

/** How many runs are fetched one by one before the strings are sorted. */
const MIN_RUNS = 16;

/** Reads bytes and converts each row to a value of a fixed width. */
abstract class BytesReader extends TextReader {
  protected readonly title: string;
  private readonly width: number;

  constructor(width: number, title: string) {
    super();
    this.width = width;
    this.title = title;
  }

  /** Writes the value of a row to `to`, zeroed before. */
  protected abstract convert(from: Uint8Array, to: DataView): void;

  override write(out: BatchWriter): void {
    this.validity.write(out);
    const rows = this.validity.length;
    const offsets = this.offsets.values;
    const { bytes } = this.content;
    const values = new Uint8Array(rows * this.width);
    for (let row = 0; row < rows; row++) {
      const from = bytes.subarray(offsets[row], offsets[row + 1]);
      if (from.length > 0) this.convert(from, new DataView(values.buffer, row * this.width, this.width));
    }
    out.buffer(values);
  }
}

/** The width of Arrow's 256-bit decimals. */
const DECIMAL_BYTES = 32;

/** Reads Parquet decimals: big-endian integers of any width. */
export class DecimalBytesReader extends BytesReader {
  constructor(title: string) {
    super(DECIMAL_BYTES, title);
  }

  protected convert(from: Uint8Array, to: DataView): void {
    const sign = (from[0] ?? 0) >= 0x80 ? 0xff : 0;
    const extra = from.length - DECIMAL_BYTES;
    // Bytes beyond 256 bits must only repeat the sign.
    const isLonger =
      extra > 0 && (from.subarray(0, extra).some((byte) => byte !== sign) || (from[extra] ?? 0) >> 7 !== sign >> 7);
    if (isLonger)
      throw new UnstorableValue(0, `Column ${JSON.stringify(this.title)} has a decimal of more than 256 bits.`);
    for (let i = 0; i < DECIMAL_BYTES; i++) to.setUint8(i, from[from.length - 1 - i] ?? sign);
  }
}

const INT96_BYTES = 12;
/** The Julian day of 1970-01-01. */
const EPOCH_DAY = 2_440_588n;
const NANOS_PER_DAY = 86_400_000_000_000n;

/** Reads Parquet's deprecated timestamps: nanoseconds of the day, then the Julian day, little-endian. */
export class Int96Reader extends BytesReader {
  private readonly unit: Int96Unit;

  constructor(unit: Int96Unit, title: string) {
    super(8, title);
    this.unit = unit;
  }

  protected convert(from: Uint8Array, to: DataView): void {
    const view = new DataView(from.buffer, from.byteOffset, from.byteLength);
    if (view.byteLength !== INT96_BYTES) throw this.unfit('does not have 12 bytes');
    const day = BigInt(view.getInt32(8, true)) - EPOCH_DAY;
    const nanos = day * NANOS_PER_DAY + view.getBigInt64(0, true);
    if (this.unit === 'micros' && nanos % 1000n !== 0n)
      throw this.unfit('has nanoseconds, which others do not leave room for');
    const value = this.unit === 'micros' ? nanos / 1000n : nanos;
    if (BigInt.asIntN(64, value) !== value) {
      const unit = this.unit === 'micros' ? 'microseconds' : 'nanoseconds';
      throw this.unfit(`is Julian day ${day + EPOCH_DAY}, outside of the range of a timestamp in ${unit}`);
    }
    to.setBigInt64(0, value, true);
  }

  private unfit(what: string): UnstorableValue {
    return new UnstorableValue(0, `Column ${JSON.stringify(this.title)} has the Parquet type INT96: a value ${what}.`);
  }
}

/**
 * Reads decimals and integers stored as text. The text always has all digits of the scale, so the unscaled
 * integer is the text without its point and exponent. Files of older versions have only the digits.
 */
export class DigitsReader extends TextReader {
  private readonly width: number;

  constructor(width: number) {
    super();
    this.width = width;
  }

  override write(out: BatchWriter): void {
    this.validity.write(out);
    const rows = this.validity.length;
    const { bytes } = this.content;
    const digits = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const offsets = this.offsets.values;
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
