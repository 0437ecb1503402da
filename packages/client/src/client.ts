import type { Table } from 'apache-arrow';
import type { Transport } from './http/request.ts';
import type {
  CallOptions,
  KeepOptions,
  ListOptions,
  QueryOptions,
  RowOptions,
  SelectOptions,
  StreamOptions,
  UploadOptions,
} from './options.ts';
import type { Result } from './result.ts';
import type { Row } from './json/table-types.ts';
import type { FrameInfo, ListedFrame, RunningQuery, ServerInfo, WrittenFrame } from './types.ts';
import type { UploadData } from './upload.ts';

/**
 * A client of one server. Its methods throw a `ClientError`, or the reason of an aborted signal. Give `R` if the columns are
 * known: it is not checked.
 */
export interface Client extends Transport {
  /** Reads rows of a frame. */
  read<R = Row>(handle: string, options?: SelectOptions & RowOptions): Promise<Result<R>>;
  /** Reads a frame as a table of `apache-arrow`. */
  readArrow(handle: string, options?: SelectOptions): Promise<Table>;
  /** Reads a frame as bytes of a format. */
  readStream(handle: string, options: SelectOptions & StreamOptions): Promise<ReadableStream<Uint8Array>>;

  /** Runs SQL, and resolves when its columns have come. */
  query<R = Row>(sql: string, options?: QueryOptions & RowOptions): Promise<Result<R>>;
  /** Runs SQL, and reads its result as a table of `apache-arrow`. */
  queryArrow(sql: string, options?: QueryOptions): Promise<Table>;
  /** Runs SQL, and reads its result as bytes of a format. */
  queryStream(sql: string, options: QueryOptions & StreamOptions): Promise<ReadableStream<Uint8Array>>;
  /** Stores the result of SQL as a frame. Its engine is `local` unless it names another. */
  keep(sql: string, options?: KeepOptions): Promise<WrittenFrame>;

  /** Puts a frame, or replaces it. */
  put(handle: string, data: UploadData, options?: UploadOptions): Promise<WrittenFrame>;
  /** Adds rows to a frame; puts it if there is none. */
  append(handle: string, data: UploadData, options?: UploadOptions): Promise<WrittenFrame>;
  /** Puts a frame under a handle that the server makes. */
  create(data: UploadData, options?: UploadOptions): Promise<WrittenFrame>;

  /** Lists the frames, sorted by handle. */
  list(options?: ListOptions): AsyncIterable<ListedFrame>;
  describe(handle: string, options?: CallOptions): Promise<FrameInfo>;
  /** Sets the seconds until a frame expires; null: it never does. */
  setTtl(handle: string, ttl: number | null, options?: CallOptions): Promise<FrameInfo>;
  /** Gives a frame another handle, which must be free. */
  rename(handle: string, newHandle: string, options?: CallOptions): Promise<FrameInfo>;
  drop(handle: string, options?: CallOptions): Promise<void>;

  /** Lists the SQL that waits, runs or is being answered. */
  running(options?: CallOptions): Promise<readonly RunningQuery[]>;
  /** Ends the SQL of a request. Returns whether it ran. */
  cancel(id: string, options?: CallOptions): Promise<boolean>;
  /** Returns what the server can do. */
  info(options?: CallOptions): Promise<ServerInfo>;
  /** Throws if the server does not answer. */
  ping(options?: CallOptions): Promise<void>;
}
