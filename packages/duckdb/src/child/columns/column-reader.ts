import type { Vector } from '@duckdb/node-bindings';
import type { BatchWriter } from '../../wire/batch.ts';

/** Turns vectors of DuckDB into the buffers of an Arrow column, one vector after the other. */
export interface ColumnReader {
  /** Looks at a vector, which must stay until all its rows are taken; returns about how many bytes they take. */
  open(vector: Vector, rows: number): number;
  /** Adds rows of the vector that was opened last. */
  take(start: number, count: number): void;
  /** About how many bytes were added since `clear`. */
  readonly bytes: number;
  /** Writes what was added: length, count of nulls, validity, then what the type has. */
  write(out: BatchWriter): void;
  clear(): void;
}
