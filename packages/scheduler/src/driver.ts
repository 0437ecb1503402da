import type { FrameStream, SqlValue, TraceContext } from '@svc/frames';
import type { Schema } from 'apache-arrow';

/** Speaks the protocol of a cluster. Failures are `ServiceError`s, with positions in the SQL of the statement. */
export interface Driver {
  /**
   * Runs a statement and resolves when its columns are known. The signal stops the statement and its result. If it
   * rejects, nothing of the statement runs any more, as far as the cluster can be asked.
   */
  query(statement: BoundStatement, signal: AbortSignal): Promise<DriverResult>;
  /** Returns the columns of a statement, without running it. */
  describe(statement: BoundStatement, signal: AbortSignal): Promise<Schema>;
  /** Stops all statements, and closes the connections even if the cluster does not confirm that soon. */
  close(): Promise<void>;
}

/** The rows of a statement on the cluster. */
export interface DriverResult extends FrameStream {
  /** Stops the statement in any state. Resolves when the cluster has confirmed that nothing of it runs any more. */
  stop(): Promise<void>;
  /** Whether a statement fails if a file of its frames is missing. Default: the engine may read it as an empty table. */
  readonly noticesMissingFiles?: boolean;
}

/** A statement that passed the fence, and the frames that it names. */
export interface BoundStatement {
  /** One query, and nothing after it. A driver puts it into parentheses, in which no command can stand. */
  readonly sql: string;
  /** The values of `?`, in order. */
  readonly params: readonly SqlValue[];
  /** The number of `?`. Without values, `describe` has to bind nulls. */
  readonly parameters: number;
  readonly frames: readonly BoundFrame[];
  readonly tenant: string;
  /** Identifies the statement on the cluster, for its operators. */
  readonly tag: string;
  /** The trace that the statement belongs to. Omitted if it is in none. */
  readonly trace?: TraceContext | undefined;
}

/**
 * A version of a frame, as files that the cluster can read. A statement that spells the name in several letter cases
 * has one for each.
 */
export interface BoundFrame {
  /** The name of the table, as the statement spells it. */
  readonly name: string;
  readonly handle: string;
  readonly version: string;
  readonly rows: number;
  /** The Parquet files, as the cluster names them: URIs, with their escapes. */
  readonly uris: readonly string[];
  /** The columns of the files. */
  readonly schema: Schema;
}
