import type { Credentials } from '@svc/auth';
import type { ErrorCode } from '@svc/errors';
import type {
  Call,
  Caller,
  Client,
  CsvOptions,
  FrameFile,
  FrameFileFormat,
  FrameInfo,
  FrameStream,
  LinePrecision,
  ListedFrame,
  ListOptions,
  ParquetEncoder,
  PutOptions,
  PutResult,
  QueryResult,
  QueuePlace,
  ReadOptions,
  RowsOptions,
  SqlValue,
  StartTrace,
  StatementInfo,
  StatementProgress,
  StoreFault,
  StoreUsage,
  TraceContext,
  UploadFormat,
} from '@svc/frames';
import type { TsdbPassRequest, TsdbRequest, TsdbResponse } from '@svc/tsdb-proxy';
import type { EngineName, SqlTarget } from './engines.ts';
import type { Observer } from './events.ts';

/** An uploaded frame: its format and its bytes. */
export interface Upload {
  /** `arrow` is an IPC stream or file, detected by its first bytes; `json` an array of rows, `ndjson` one row per line. */
  readonly format: UploadFormat;
  readonly body: AsyncIterable<Uint8Array>;
  /** The CSV dialect and columns; whatever is missing is detected. */
  readonly csv?: CsvOptions;
  /** The columns of JSON or NDJSON. */
  readonly rows?: RowsOptions;
  /** The length of the body, if known: a long body is then refused before it is read. */
  readonly bytes?: number;
}

/** Line protocol: the rows of one or more frames. */
export interface LinesUpload {
  readonly body: AsyncIterable<Uint8Array>;
  /** The unit of times. Default `ns`. */
  readonly precision?: LinePrecision | undefined;
  /** The length of the body, if known: a long body is then refused before it is read. */
  readonly bytes?: number;
}

/** The part of a frame to read. */
export type ReadFrameOptions = Omit<ReadOptions, 'signal'>;

/** A frame being read. The caller must close it. */
export interface FrameReading {
  readonly info: FrameInfo;
  readonly stream: FrameStream;
  close(): void;
}

/** A frame being read as a file. The caller must close it. */
export interface FileReading {
  readonly info: FrameInfo;
  readonly file: Pick<FrameFile, 'bytes' | 'read' | 'version'>;
  close(): void;
}

/** The conditions and the TTL of a put. */
export type PutFrameOptions = Omit<PutOptions, 'quota' | 'signal'>;

/** Options of a query over frames. */
export interface QueryFramesOptions extends ReadFrameOptions {
  /** Default: the only one, else `local`. */
  readonly engine?: EngineName;
  /** The values of `?` or `$1`, in order. */
  readonly params?: readonly SqlValue[];
  /** Called with the number of rows of the whole result, before the batches end: rows after the limit are read, too. */
  readonly onTotal?: (rows: number) => void;
}

/** How long a statement took until its first rows. */
export interface QueryTiming {
  /** How long it waited for the engine. */
  readonly waitMs: number;
  /** How long it ran. */
  readonly executeMs: number;
}

/** A statement from its wait to the end of its result. */
export interface QueryInfo {
  /** The id of its request. */
  readonly id: string;
  readonly tenant: string;
  /** The id of the caller. Omitted if authentication is off. */
  readonly caller?: string;
  readonly engine: SqlTarget;
  readonly state: 'queued' | 'running' | 'sending';
  readonly elapsedMs: number;
  /** Omitted unless it is queued. */
  readonly queue?: QueuePlace;
  /** Omitted if it is unknown. */
  readonly progress?: StatementProgress;
  /** The rows read from the result so far. */
  readonly rows: number;
  /** The bytes of the response so far, before compression. */
  readonly bytes: number;
  readonly sql: string;
}

/** The result of a query over frames. The caller must close it. */
export interface SqlResult extends QueryResult {
  /** How long the statement took until its first rows. */
  readonly timing: QueryTiming;
  /** Counts bytes of the response that were made from the result. Throws if the result is longer than it may be. */
  sent(bytes: number): void;
  /** `error`: why the result is not read to its end. */
  close(error?: unknown): void;
}

/** Options of `keepQuery`. */
export interface KeepQueryOptions extends PutFrameOptions {
  /** The engine or database for the SQL. Default: the only one, else `local`. */
  readonly engine?: SqlTarget;
  /** The values of `?` or `$1`, in order. Not allowed for the time-series database. */
  readonly params?: readonly SqlValue[];
  /** The handle of the frame. Default: a generated one. */
  readonly handle?: string;
}

/** A stored query result. */
export interface KeptQuery extends PutResult {
  /** How long the statement took until its first rows. */
  readonly timing: QueryTiming;
}

/** Options of `appendRows` and `appendQuery`. */
export interface InsertOptions {
  /** The columns of the frame that the columns of the rows are for, in order; others are null. Default: all. */
  readonly columns?: readonly string[];
}

/** The result of `appendRows` and `appendQuery`. */
export interface InsertedRows {
  /** The frame after the append. */
  readonly info: ShownInfo;
  /** The number of appended rows. */
  readonly rowsWritten: number;
}

/** Options of `appendQuery`. */
export interface AppendQueryOptions extends InsertOptions {
  /** The engine for the SQL. Default: the only one, else `local`. */
  readonly engine?: EngineName;
  /** The values of `?` or `$1`, in order. */
  readonly params?: readonly SqlValue[];
}

/** The state of the service and its parts. */
export interface Health {
  /**
   * `degraded`: some frames cannot be read. `failing`: the store cannot write, or cannot be used at all. `draining`: the
   * server works, and stops soon.
   */
  readonly status: 'ok' | 'degraded' | 'failing' | 'draining' | 'stopping';
  readonly version: string;
  readonly uptimeSeconds: number;
  readonly parts: {
    readonly store: StoreHealth;
    /** Omitted without TLS. */
    readonly tls?: TlsHealth;
  } & Readonly<Record<SqlTarget, TargetHealth>>;
}

/** The state of the certificate of the server. */
export interface TlsHealth {
  /** `degraded`: the files have changed and cannot be used, so that the certificate from before is in use. */
  readonly status: 'ok' | 'degraded';
  /** When the certificate in use expires. */
  readonly expires: Date;
}

/** The state and the usage of the store. */
export interface StoreHealth extends StoreUsage {
  readonly status: 'ok' | 'degraded' | 'failing';
  /** Omitted if there are none. */
  readonly faults?: readonly StoreFault[];
}

/** The state of an engine or of the time-series database, as far as requests have shown it. */
export interface TargetHealth extends PartState {
  /** The number of statements running or sending their results. Omitted if it is not configured. */
  readonly running?: number;
  /** The number of waiting statements. Omitted if it is not configured. */
  readonly queued?: number;
  /** The number of processes of the engine. Omitted if it has none of its own. */
  readonly processes?: number;
  /** How the last request to the database ended: `ok`, or the code of the error. Omitted before the first one. */
  readonly lastOutcome?: 'ok' | ErrorCode;
}

/** An optional part of the server. Its health is not checked. */
export interface PartState {
  readonly status: 'configured' | 'not_configured';
}

/** The metadata of a frame, with the columns if the caller may describe it. */
export type ShownInfo = Omit<FrameInfo, 'columns'> & Partial<Pick<FrameInfo, 'columns'>>;

/** The outcome of an append. */
export interface AppendResult extends Pick<PutResult, 'created' | 'rowsWritten'> {
  readonly info: ShownInfo;
}

/**
 * The operations for callers. They fail with a `ServiceError`. Handles are validated here, and so is the permission of the
 * caller: `REQUIRED_PERMISSIONS` has a row for each operation.
 */
export interface Operations {
  readFrame(call: Call, handle: string, options?: ReadFrameOptions): Promise<FrameReading>;
  /** Opens a whole frame as a file of known length. Any range of it can be read. */
  openFile(call: Call, handle: string, format: FrameFileFormat): Promise<FileReading>;
  /** Opens a whole frame as a file if there is one already. */
  findFile(call: Call, handle: string, format: FrameFileFormat): Promise<FileReading | undefined>;
  describeFrame(call: Call, handle: string): Promise<FrameInfo>;
  listFrames(call: Call, options?: ListOptions): Promise<readonly ListedFrame[]>;
  putFrame(call: Call, handle: string, upload: Upload, options?: PutFrameOptions): Promise<PutResult>;
  /** Appends rows to a frame, or creates it. */
  appendFrame(call: Call, handle: string, upload: Upload, options?: PutFrameOptions): Promise<AppendResult>;
  expireFrame(call: Call, handle: string, ttlSeconds: number | null): Promise<ShownInfo>;
  /** Gives a frame another handle. It must be free, else `handle_exists`. */
  renameFrame(call: Call, handle: string, newHandle: string): Promise<ShownInfo>;
  dropFrame(call: Call, handle: string): Promise<void>;
  /** Runs one read-only statement over the caller's frames as tables. The caller must close the result. */
  query(call: Call, sql: string, options?: QueryFramesOptions): Promise<SqlResult>;
  /** Returns the result schema and the parameters of a statement. */
  describeQuery(call: Call, sql: string, engine?: EngineName): Promise<StatementInfo>;
  /** Stores the result of a query as a frame. */
  keepQuery(call: Call, sql: string, options?: KeepQueryOptions): Promise<KeptQuery>;
  /**
   * Appends rows to a frame that exists, by the order of their columns. Texts are read as the types of the frame; a value that
   * would change is `invalid_data`.
   */
  appendRows(call: Call, handle: string, rows: FrameStream, options?: InsertOptions): Promise<InsertedRows>;
  /** Appends the result of a query to an existing frame, as `appendRows` does. */
  appendQuery(call: Call, handle: string, sql: string, options?: AppendQueryOptions): Promise<InsertedRows>;
  /**
   * Appends lines to the frames of their tables, which are created if needed. If a line is wrong, nothing is stored. The rows
   * of a table are stored all or not at all; a failure after those of another table is `partial_write`. Resolves to the
   * number of rows.
   */
  writeLines(call: Call, lines: LinesUpload): Promise<number>;
  /** Returns the statements that have not ended, oldest first. */
  listQueries(call: Call): Promise<readonly QueryInfo[]>;
  /** Returns the newest running statement of a request; fails with `query_not_found` if there is none. */
  findQuery(call: Call, id: string): Promise<QueryInfo>;
  /** Cancels the statements of a request: they fail with `cancelled`. `query_not_found` if there is none. */
  cancelQuery(call: Call, id: string): Promise<void>;
  /** Forwards SQL to the time-series database; fails with `tsdb_not_configured` if there is none. */
  forward(call: Call, request: TsdbRequest): Promise<TsdbResponse>;
  /** Forwards any other read, such as of a page of the database. */
  forwardRead(call: Call, request: TsdbPassRequest): Promise<TsdbResponse>;
  /** Forwards any other change, with its body. */
  forwardChange(call: Call, request: TsdbPassRequest): Promise<TsdbResponse>;
}

/** The name of an operation. */
export type OperationName = keyof Operations;

/** The request of credentials, for the log. */
export interface AuthenticationContext {
  readonly requestId: string;
  /** `GET /exec`, or the full name of the RPC. */
  readonly operation?: string | null;
  readonly client?: Client | undefined;
  readonly trace?: TraceContext | undefined;
}

/** The server without its protocols: its operations, what it supports, and its state. */
export interface Service extends Operations {
  /**
   * Returns the caller of a request; `unauthenticated` if the credentials prove none. Undefined if authentication is
   * off.
   */
  readonly authenticate?:
    ((credentials: Credentials, context: AuthenticationContext) => Caller | Promise<Caller>) | undefined;
  /**
   * Throws `permission_denied` if the caller may not use an operation. Each operation checks this itself; protocol front
   * ends call it if they must know before they read the rest of a request. `target`: where SQL runs; default `local`.
   */
  authorize(call: Call, operation: OperationName, target?: SqlTarget): void;
  /**
   * Counts a request of the caller's tenant. Throws `too_many_requests` if the tenant sends them too fast. Protocol front
   * ends call it once for each request, as soon as the caller is known.
   */
  admit(call: Call): void;
  /**
   * Counts a request of the caller's tenant as in flight, until the function that it returns is called; undefined if there
   * is no limit. Throws `too_many_requests` if the tenant has its share.
   */
  startRequest(call: Call): (() => void) | undefined;
  /** Returns true if the caller has the permission `admin`. The audit then shows its use for `operation`. */
  useAdmin(call: Call, operation: string): boolean;
  /** The formats of `openFile`. They depend on the store. */
  readonly frameFileFormats: readonly FrameFileFormat[];
  /** The upload formats. They depend on the store. */
  readonly uploadFormats: readonly UploadFormat[];
  /** The largest upload, both as received and decompressed. */
  readonly maxUploadBytes: number;
  /** The longest request of lines, both as received and decompressed. */
  readonly maxLinesBytes: number;
  /** The version of the server. */
  readonly version: string;
  /** The configured engines. */
  readonly engines: readonly EngineName[];
  /** The product behind SQL over frames, and its version: `DuckDB 1.5.6`; undefined if it is not known. */
  readonly sqlProduct?: string | undefined;
  /** Writes Parquet files; undefined if it cannot. */
  readonly encodeParquet?: ParquetEncoder | undefined;
  /** True if SQL can be forwarded. */
  readonly hasTsdb: boolean;
  /** Finds the place of a request in a distributed trace, for its `Call`. Protocol front ends call it at most once for each request. */
  readonly startTrace: StartTrace;
  health(): Promise<Health>;
  /** Passes an event of a protocol front end to the observer. */
  readonly observe: Observer;
  /** From now on, `health` reports a stop soon. Operations are not affected. */
  drain(): void;
  /** From now on, every new operation is `unavailable`; running ones continue. */
  stop(): void;
  close(): Promise<void>;
}
