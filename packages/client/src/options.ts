import type { Longs } from './json/exact-json.ts';
import type { EngineName, RunningQuery } from './types.ts';

/** The options of every request. */
export interface CallOptions {
  /** Ends the request. SQL that runs for it ends too. */
  readonly signal?: AbortSignal | undefined;
  /** Identifies the request in the log of the server, and its SQL in the list of running SQL. Default: a new id. */
  readonly requestId?: string | undefined;
}

/** Which rows and columns to read. */
export interface SelectOptions extends CallOptions {
  /** How many rows. Default: all. */
  readonly limit?: number | undefined;
  /** How many rows to leave out before them. Default: 0. */
  readonly offset?: number | undefined;
  /** Columns, in this order. Default: all. */
  readonly columns?: readonly string[] | undefined;
}

/** How rows are read. */
export interface RowOptions {
  /**
   * LONG, ULONG and LONG128 values. `number` throws an `inexact_value` for one that a number cannot hold. Default: `bigint`.
   */
  readonly longs?: Longs | undefined;
}

/** How SQL is run. */
export interface QueryOptions extends SelectOptions {
  /** Default: the only engine of the server, which is asked once; that of the server if it has several. */
  readonly engine?: EngineName | undefined;
  /** Values for `?` or `$1`. */
  readonly params?: readonly unknown[] | undefined;
  /** Called about twice a second with the state of the SQL, until its first rows. It must not throw. */
  readonly onProgress?: ((query: RunningQuery) => void) | undefined;
}

/** The format of a stream. */
export interface StreamOptions {
  readonly format: 'arrow' | 'parquet' | 'csv' | 'ndjson';
}

/** When a write is refused. */
export interface WriteOptions extends CallOptions {
  /** Seconds until the frame expires. Default: never; for an append, as before. */
  readonly ttl?: number | undefined;
  /** Only if the handle is free, else `handle_exists`. */
  readonly ifNew?: boolean | undefined;
  /** Only if the frame has this version, else `version_conflict`. */
  readonly ifVersion?: string | undefined;
}

/** How data is sent. */
export interface UploadOptions extends WriteOptions {
  /** Default: NDJSON for rows, Arrow for a table; else the server recognises the format by its first bytes. */
  readonly format?: 'json' | 'ndjson' | 'csv' | 'arrow' | 'parquet' | undefined;
  /** The types of all columns, in order, for rows and CSV; null: by its values. Default: by the values. */
  readonly columns?: Readonly<Record<string, string | null>> | undefined;
  /** Further parameters of an upload, such as `delimiter` or `null` for CSV. */
  readonly params?: Readonly<Record<string, string | readonly string[]>> | undefined;
  /** How bytes are compressed. Default: not, or as their first bytes say. */
  readonly encoding?: 'gzip' | 'zstd' | undefined;
}

/** Which frames to list. */
export interface ListOptions extends CallOptions {
  /** Only handles that begin with it. */
  readonly prefix?: string | undefined;
}

/** Where the result of SQL is stored. */
export interface KeepOptions extends WriteOptions, Pick<QueryOptions, 'engine' | 'params' | 'onProgress'> {
  /** Default: the server makes one. */
  readonly handle?: string | undefined;
}
