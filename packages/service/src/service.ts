import type {
  Call,
  CsvOptions,
  FrameInfo,
  FrameStream,
  ListOptions,
  ParquetEncoder,
  PutOptions,
  PutResult,
  QueryResult,
  ReadOptions,
  SqlValue,
  StatementInfo,
  StoreFault,
  StoreUsage,
  UploadFormat,
} from '@svc/frames';
import type { TsdbResponse, TsdbRequest } from '@svc/tsdb-proxy';
import type { EngineName, SqlTarget } from './engine-names.ts';
import type { Observer } from './events.ts';

/** Bytes of a frame in a format, as a client uploads them. */
export interface Upload {
  /** `arrow` is the IPC stream or file, told apart by their first bytes; `json` is an array of rows, `ndjson` one row a line. */
  readonly format: UploadFormat;
  readonly body: AsyncIterable<Uint8Array>;
  /** How to read a CSV file, where that should not be found out. */
  readonly csv?: CsvOptions;
  /** How long the body will be, where the client said so: too much is then refused before it is read. */
  readonly bytes?: number;
}

/** Which part of a frame to read. */
export type ReadFrameOptions = Omit<ReadOptions, 'signal'>;

/** A frame being read; whoever asked for it closes it. */
export interface FrameReading {
  readonly info: FrameInfo;
  readonly stream: FrameStream;
  close(): void;
}

/** Conditions and life of a put. */
export type PutFrameOptions = Omit<PutOptions, 'signal'>;

/** How SQL over frames is run. */
export interface QueryFramesOptions extends ReadFrameOptions {
  /** Default `local`. */
  readonly engine?: EngineName;
  /** The values of `?` or `$1`, in order. */
  readonly params?: readonly SqlValue[];
}

/** How the answer of a query is kept. */
export interface KeepQueryOptions extends PutFrameOptions {
  /** Who answers the SQL. Default `local`. */
  readonly engine?: SqlTarget;
  /** The values of `?` or `$1`, in order. The time-series database takes none. */
  readonly params?: readonly SqlValue[];
  /** The handle of the frame. Default: one that the service makes. */
  readonly handle?: string;
}

/** The state of the service and its parts. */
export interface Health {
  /** `degraded`: some frames cannot be read. `failing`: no request that needs the store can succeed, or none that writes. */
  readonly status: 'ok' | 'degraded' | 'failing' | 'stopping';
  readonly version: string;
  readonly uptimeSeconds: number;
  readonly parts: {
    readonly store: StoreHealth;
  } & Readonly<Record<SqlTarget, PartState>>;
}

/** The state of the store, and what it holds. */
export interface StoreHealth extends StoreUsage {
  readonly status: 'ok' | 'degraded' | 'failing';
  /** Left out when there are none. */
  readonly faults?: readonly StoreFault[];
}

/** Whether there is a part of the server that can be left out. It is not asked. */
export interface PartState {
  readonly status: 'configured' | 'not_configured';
}

/** Everything the fronts can ask for. Failures are `ServiceError`s. Handles come as clients sent them. */
export interface Service {
  readFrame(call: Call, handle: string, options?: ReadFrameOptions): Promise<FrameReading>;
  describeFrame(call: Call, handle: string): Promise<FrameInfo>;
  listFrames(call: Call, options?: ListOptions): Promise<readonly FrameInfo[]>;
  /** The formats that can be uploaded; which they are depends on the store. */
  readonly uploadFormats: readonly UploadFormat[];
  putFrame(call: Call, handle: string, upload: Upload, options?: PutFrameOptions): Promise<PutResult>;
  /** Adds rows to a frame, or makes one of them. */
  appendFrame(call: Call, handle: string, upload: Upload, options?: PutFrameOptions): Promise<PutResult>;
  expireFrame(call: Call, handle: string, ttlSeconds: number | null): Promise<FrameInfo>;
  dropFrame(call: Call, handle: string): Promise<void>;
  /** Who can be asked with `query`. */
  readonly engines: readonly EngineName[];
  /** Runs one statement that only reads, over the caller's frames as tables. Whoever asked closes the answer. */
  query(call: Call, sql: string, options?: QueryFramesOptions): Promise<QueryResult>;
  /** What a statement would answer and which parameters it has. */
  describeQuery(call: Call, sql: string, engine?: EngineName): Promise<StatementInfo>;
  /** Puts the answer of a query under a handle. */
  keepQuery(call: Call, sql: string, options?: KeepQueryOptions): Promise<PutResult>;
  /** Writes Parquet files; left out where nothing here can. */
  readonly encodeParquet?: ParquetEncoder | undefined;
  /** Whether SQL can be forwarded. */
  readonly hasTsdb: boolean;
  /** Sends SQL to the time-series database; `tsdb_not_configured` where there is none. */
  forward(call: Call, request: TsdbRequest): Promise<TsdbResponse>;
  health(): Promise<Health>;
  /** Reports an event of a front to the observer. */
  readonly observe: Observer;
  /** From now on every new operation is `unavailable`; running ones go on. */
  stop(): void;
  close(): Promise<void>;
}
