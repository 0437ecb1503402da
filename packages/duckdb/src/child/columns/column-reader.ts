import type { Vector } from '@duckdb/node-bindings';
import type { BatchWriter } from '../../wire/batch.ts';

/** Converts DuckDB vectors to the buffers of an Arrow column, one vector at a time. */
export interface ColumnReader {
  /** Opens a vector, which must stay alive until all its rows are taken; returns their approximate size in bytes. */
  open(vector: Vector, rows: number): number;
  /** Adds rows of the open vector. */
  take(start: number, count: number): void;
  /** The approximate number of bytes added since `clear`. */
  readonly bytes: number;
  /** Writes the added rows: length, null count, validity, then the buffers of the type. */
  write(out: BatchWriter): void;
  clear(): void;
}
