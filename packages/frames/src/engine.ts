import type { Schema } from 'apache-arrow';
import type { Call } from './call.ts';
import type { FrameStream } from './frame-stream.ts';

/**
 * A value for `?` or `$1` in SQL. One that plain values cannot say is a text and the SQL type to read it as:
 * `{ type: 'TIMESTAMP', text: '2024-01-02 03:04:05' }`.
 */
export type SqlValue =
  null | boolean | number | bigint | string | Uint8Array | { readonly type: string; readonly text: string };

/** What a statement is given beside its text. */
export interface QueryOptions {
  /** The values of `?` or `$1`, in order. Default: none. */
  readonly params?: readonly SqlValue[];
  /** Allow the engine to reuse buffers: each batch is valid until the next `next()`. Default false. */
  readonly reuseBuffers?: boolean;
}

/** The answer of a statement. Whoever asked closes it, read to its end or not: until then it holds a place in the engine. */
export interface QueryResult extends FrameStream {
  close(): void;
}

/** What is known of a statement that was not run. */
export interface StatementInfo {
  /** The columns of its answer. */
  readonly schema: Schema;
  /** A field for each parameter, in order; of the type null where the statement does not say which it is. */
  readonly parameters: Schema;
}

/** Answers SQL over the caller's frames: one statement that only reads. Failures are `ServiceError`s. */
export interface Engine {
  /** Runs a statement; the answer has the first rows. What it has begun ends with the call's signal. */
  query(call: Call, sql: string, options?: QueryOptions): Promise<QueryResult>;
  /** Checks a statement as `query` does, without running it. */
  describe(call: Call, sql: string): Promise<StatementInfo>;
  close(): Promise<void>;
}
