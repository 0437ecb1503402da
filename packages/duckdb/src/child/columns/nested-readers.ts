import duckdb, { type Vector } from '@duckdb/node-bindings';
import type { BatchWriter } from '../../wire/batch.ts';
import {
  BitReader,
  type ColumnReader,
  createDecimalReader,
  createDuckdbIntervalReader,
  createUuidReader,
  EmptyStructReader,
  FixedReader,
  GrowingOffsets,
  GrowingValidity,
  IntervalReader,
  validityOf,
} from './fixed-readers.ts';
import { DecimalBytesReader, DigitsReader, Int96Reader, ownBytes, TextReader } from './text-readers.ts';
import type { GetPlan } from '../../wire/column-plans.ts';

/** Creates a reader for a plan. */
export function createColumnReader(plan: GetPlan): ColumnReader {
  switch (plan.kind) {
    case 'bits':
      return new BitReader();
    case 'copy':
      return new FixedReader(plan.width);
    case 'decimal':
      return createDecimalReader(plan.precision);
    case 'decimal_bytes':
      return new DecimalBytesReader(plan.title);
    case 'int96':
      return new Int96Reader(plan.unit, plan.title);
    case 'digits':
      return new DigitsReader(plan.width);
    case 'uuid':
      return createUuidReader();
    case 'interval':
      return new IntervalReader(plan.unit);
    case 'duckdb_interval':
      return createDuckdbIntervalReader();
    case 'bytes':
      return new TextReader();
    case 'list':
      return new ListReader(createColumnReader(plan.item));
    case 'struct':
      return new StructReader(plan.fields.map(createColumnReader));
    case 'empty_struct':
      return new EmptyStructReader();
    case 'wrapped':
      return wrappedReader(createColumnReader(plan.item));
    default:
      return plan satisfies never;
  }
}

/** Reads structs with a single field as that field. */
function wrappedReader(item: ColumnReader): ColumnReader {
  return {
    open: (vector, rows) => item.open(duckdb.struct_vector_get_child(vector, 0), rows),
    take: (start, count) => item.take(start, count),
    get bytes() {
      return item.bytes;
    },
    write: (out) => item.write(out),
    clear: () => item.clear(),
  };
}

/** Reads lists and maps. */
class ListReader implements ColumnReader {
  private readonly validity = new GrowingValidity();
  private readonly offsets = new GrowingOffsets();
  private valid: Uint8Array | null = null;
  private entries = new Uint32Array(0);
  private items = 0;
  private readonly item: ColumnReader;

  constructor(item: ColumnReader) {
    this.item = item;
  }

  open(vector: Vector, rows: number): number {
    this.entries = new Uint32Array(ownBytes(duckdb.vector_get_data(vector, 16 * rows)).buffer, 0, 4 * rows);
    this.valid = validityOf(vector, rows);
    return 4 * rows + this.item.open(duckdb.list_vector_get_child(vector), duckdb.list_vector_get_size(vector));
  }

  take(start: number, count: number): void {
    const { entries, valid } = this;
    this.validity.add(valid, start, count);
    const { offsets, at } = this.offsets.add(count);
    // Adjacent lists are copied together.
    let runStart = 0;
    let runEnd = 0;
    for (let i = 0; i < count; i++) {
      const row = start + i;
      const isValid = valid === null || (((valid[row >> 3] ?? 0) >> (row & 7)) & 1) === 1;
      const length = isValid ? (entries[4 * row + 2] ?? 0) : 0;
      const first = entries[4 * row] ?? 0;
      if (length > 0 && first !== runEnd) {
        if (runEnd > runStart) this.item.take(runStart, runEnd - runStart);
        runStart = first;
        runEnd = first;
      }
      runEnd += length;
      this.items += length;
      offsets[at + i] = this.items;
    }
    if (runEnd > runStart) this.item.take(runStart, runEnd - runStart);
  }

  get bytes(): number {
    return this.offsets.length + this.item.bytes;
  }

  write(out: BatchWriter): void {
    this.validity.write(out);
    out.buffer(this.offsets.bytes);
    this.item.write(out);
  }

  clear(): void {
    this.items = 0;
    this.validity.clear();
    this.offsets.clear();
    this.item.clear();
  }
}

class StructReader implements ColumnReader {
  private readonly validity = new GrowingValidity();
  private valid: Uint8Array | null = null;
  private readonly fields: readonly ColumnReader[];

  constructor(fields: readonly ColumnReader[]) {
    this.fields = fields;
  }

  open(vector: Vector, rows: number): number {
    this.valid = validityOf(vector, rows);
    let bytes = 0;
    for (const [i, field] of this.fields.entries())
      bytes += field.open(duckdb.struct_vector_get_child(vector, i), rows);
    return bytes;
  }

  take(start: number, count: number): void {
    this.validity.add(this.valid, start, count);
    for (const field of this.fields) field.take(start, count);
  }

  get bytes(): number {
    return this.fields.reduce((bytes, field) => bytes + field.bytes, 0);
  }

  write(out: BatchWriter): void {
    this.validity.write(out);
    for (const field of this.fields) field.write(out);
  }

  clear(): void {
    this.validity.clear();
    for (const field of this.fields) field.clear();
  }
}
