import type { DuckDBType } from '@duckdb/node-api';
import duckdb, { type Vector } from '@duckdb/node-bindings';
import type { BatchReader } from '../../wire/batch.ts';

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
  /** Whether the batch has a float -0; also true if a null hides it. Absent for types without one. */
  readonly hasNegativeZero?: boolean;
}

/** A value that cannot be stored, and its row in the batch. */
export class UnstorableValue extends Error {
  readonly row: number;

  constructor(row: number, message: string) {
    super(message);
    this.row = row;
  }
}

/** Which rows of a batch column have a value. */
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
