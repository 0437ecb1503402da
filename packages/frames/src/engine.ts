import type { Schema } from 'apache-arrow';
import type { Call } from './call.ts';
import type { FrameStream } from './streams.ts';

/**
 * A value for `?` or `$1` in SQL. If no plain value fits, give the SQL type and the text to parse:
 * `{ type: 'TIMESTAMP', text: '2024-01-02 03:04:05' }`.
 */
export type SqlValue =
  null | boolean | number | bigint | string | Uint8Array | { readonly type: string; readonly text: string };

/** The place of a statement in the queue of its engine. */
export interface QueuePlace {
  /** From 1: the next one to run. Later statements of other callers may pass it. */
  readonly position: number;
  /** The number of waiting statements. */
  readonly length: number;
}

/** The part of its work a statement has done, as its engine estimates it. */
export interface StatementProgress {
  /** From 0 to 1. */
  readonly fraction: number;
  readonly rowsProcessed: number;
  readonly rowsTotal: number;
}

/** Called by an engine with the state of one statement. */
export interface StatementMonitor {
  /** The statement waits, perhaps again after an interruption. `place` returns its current place. */
  readonly queued: (place: () => QueuePlace) => void;
  /** The statement has stopped waiting and runs. Not called if it never waited. */
  readonly running: () => void;
  /** The statement has made progress. Engines that cannot estimate it do not call this. */
  readonly progressed: (progress: StatementProgress) => void;
}

/**
 * Why a process of an engine has ended. `idle`, `stopped` and `recycled` (it holds too much memory, or its engine is not
 * usable any more) are planned, `killed` follows a cancel that was ignored; others are faults.
 */
export type ChildExitReason = 'idle' | 'stopped' | 'recycled' | 'killed' | 'hung' | 'crashed' | 'out_of_memory';

/** A part of the work of an engine's process on a request whose spans are recorded. */
export interface EngineSpan {
  readonly spanId: string;
  /** The span this one is part of: another one of the process, or that of the request. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly endedMsAgo: number;
  readonly durationMs: number;
  readonly attributes?: Readonly<Record<string, string | number>>;
}

/** Options of a query. */
export interface QueryOptions {
  /** The values of `?` or `$1`, in order. Default: none. */
  readonly params?: readonly SqlValue[];
  /** Allow the engine to reuse buffers: each batch is valid until the next `next()`. Default false. */
  readonly reuseBuffers?: boolean;
  /** Observes the statement. Default: nothing does. */
  readonly monitor?: StatementMonitor | undefined;
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
  /** The product that runs the SQL, and its version: `DuckDB 1.5.6`. Default: not known. */
  readonly product?: string;
  /** Returns the number of its processes. Default: it has none of its own. */
  readonly processes?: () => number;
  close(): Promise<void>;
}
