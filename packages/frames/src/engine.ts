import type { Schema } from 'apache-arrow';
import type { Call } from './call.ts';
import type { FrameStream } from './frame-stream.ts';

/**
 * A value for `?` or `$1` in SQL. If no plain value fits, give the SQL type and the text to parse:
 * `{ type: 'TIMESTAMP', text: '2024-01-02 03:04:05' }`.
 */
export type SqlValue =
  null | boolean | number | bigint | string | Uint8Array | { readonly type: string; readonly text: string };

/** Options of a query. */
export interface QueryOptions {
  /** The values of `?` or `$1`, in order. Default: none. */
  readonly params?: readonly SqlValue[];
  /** Allow the engine to reuse buffers: each batch is valid until the next `next()`. Default false. */
  readonly reuseBuffers?: boolean;
}

/**
 * The result of a statement. The caller must close it, even after reading it to the end: until then it occupies a slot
 * in the engine.
 */
export interface QueryResult extends FrameStream {
  close(): void;
}

/** The metadata of a prepared statement. */
export interface StatementInfo {
  /** The columns of the result. */
  readonly schema: Schema;
  /** A field for each parameter, in order; of type null if the statement does not determine the type. */
  readonly parameters: Schema;
}

/** Runs SQL over the caller's frames: one read-only statement at a time. Failures are `ServiceError`s. */
export interface Engine {
  /**
   * Runs a statement and resolves when the first rows are ready. The call's signal cancels the statement and its
   * result.
   */
  query(call: Call, sql: string, options?: QueryOptions): Promise<QueryResult>;
  /** Checks a statement as `query` does, without running it. */
  describe(call: Call, sql: string): Promise<StatementInfo>;
  close(): Promise<void>;
}
