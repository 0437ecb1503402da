import type { Longs } from './json/exact-json.ts';
import type { Column } from './json/json-table.ts';

/** The options of every request. */
export interface CallOptions {
  /** Ends the request, and its SQL. */
  readonly signal?: AbortSignal | undefined;
  /** Identifies the request in the log of the server, and its SQL in the list of running SQL. Default: a new id. */
  readonly requestId?: string | undefined;
}

/** The rows and columns to read. */
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
  /** Default: the only engine of the server, asked for once; the default of the server if it has several. */
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

/** The frames to list. */
export interface ListOptions extends CallOptions {
  /** The beginning of their handles. */
  readonly prefix?: string | undefined;
}

/** Where the result of SQL is stored. */
export interface KeepOptions extends WriteOptions, Pick<QueryOptions, 'engine' | 'params' | 'onProgress'> {
  /** Default: the server makes one. */
  readonly handle?: string | undefined;
}

/** The metadata of a frame. */
export interface FrameInfo {
  readonly handle: string;
  readonly rows: number;
  readonly bytes: number;
  readonly columns: readonly (Column & { readonly nullable: boolean })[];
  /** When this version was put. */
  readonly created: string;
  /** Changes with every put and append. */
  readonly version: string;
  /** When the frame expires; null: never. */
  readonly expires: string | null;
  /** Where reads find it. */
  readonly tier: 'memory' | 'disk';
}

/** A frame in a list. Its rows and columns are null if the server has not read its file yet; `describe` reads it. */
export type ListedFrame = Omit<FrameInfo, 'columns' | 'rows'> &
  (Pick<FrameInfo, 'columns' | 'rows'> | { readonly columns: null; readonly rows: null });

/** The metadata of a written frame. */
export interface WrittenFrame extends FrameInfo {
  /** True if the frame is new, false if it replaced or extended one. */
  readonly isNew: boolean;
}

/** Where SQL runs. */
export type EngineName = 'local' | 'tsdb' | 'scheduler';

/** Waiting or running SQL, or SQL being answered. */
export interface RunningQuery {
  /** The id of its request. */
  readonly id: string;
  readonly engine: EngineName;
  readonly state: 'queued' | 'running' | 'sending';
  readonly elapsedMs: number;
  /** While it is queued: its place, from 1. */
  readonly queuePosition?: number;
  /** From 0 to 1, an estimate; null if it is unknown. */
  readonly progress: number | null;
  readonly rowsProcessed?: number;
  readonly rowsTotal?: number;
  /** The sent rows and bytes of the result. */
  readonly rows: number;
  readonly bytes: number;
}

/** What a server can do. */
export interface ServerInfo {
  readonly version: string;
  readonly engines: readonly EngineName[];
  /** The engine of SQL without one. */
  readonly defaultEngine: EngineName;
  readonly formats: {
    readonly in: readonly string[];
    readonly out: readonly string[];
    readonly files: readonly string[];
  };
  readonly limits: {
    /** Rows of one response; null: no limit. */
    readonly maxRows: number | null;
    readonly maxUploadBytes: number;
    readonly sqlTimeoutMs: number;
  };
  readonly authentication: { readonly isRequired: boolean; readonly kinds?: readonly string[] };
  /** Who sent the request, if the server knows its callers. */
  readonly caller?: { readonly tenant: string; readonly permissions: readonly string[] };
}
