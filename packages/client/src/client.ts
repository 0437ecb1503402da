import type { Table } from 'apache-arrow';
import {
  type ArrowLibrary,
  loadArrow,
  describeFrame,
  dropFrame,
  keepRequest,
  listFrames,
  renameFrame,
  setFrameTtl,
  streamOf,
  type UploadData,
  uploadOf,
  writeRequest,
  writtenFrame,
} from './frames.ts';
import { ClientError } from './http/client-error.ts';
import { readText, type Transport } from './http/request.ts';
import { createTransport, readJson, type TransportOptions } from './http/transport.ts';
import {
  cancelQuery,
  listRunning,
  queryRequest,
  readResult,
  type Result,
  sendSql,
  type SqlResponse,
} from './queries.ts';
import { frameRequest, type RowsFormat } from './rows.ts';
import type {
  CallOptions,
  EngineName,
  FrameInfo,
  KeepOptions,
  ListedFrame,
  ListOptions,
  QueryOptions,
  RowOptions,
  RunningQuery,
  SelectOptions,
  ServerInfo,
  StreamOptions,
  UploadOptions,
  WrittenFrame,
} from './options.ts';
import type { Row } from './json/json-table.ts';

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
  /** Puts a frame under a new handle from the server. */
  create(data: UploadData, options?: UploadOptions): Promise<WrittenFrame>;

  /** Lists the frames, sorted by handle. */
  list(options?: ListOptions): AsyncIterable<ListedFrame>;
  describe(handle: string, options?: CallOptions): Promise<FrameInfo>;
  /** Sets the seconds until a frame expires; null: it never does. */
  setTtl(handle: string, ttl: number | null, options?: CallOptions): Promise<FrameInfo>;
  /** Gives a frame another handle. It must be free. */
  rename(handle: string, newHandle: string, options?: CallOptions): Promise<FrameInfo>;
  drop(handle: string, options?: CallOptions): Promise<void>;

  /** Lists the waiting and running SQL, and what is being answered. */
  running(options?: CallOptions): Promise<readonly RunningQuery[]>;
  /** Ends the SQL of a request. Returns true if it ran. */
  cancel(id: string, options?: CallOptions): Promise<boolean>;
  /** Returns what the server can do. */
  info(options?: CallOptions): Promise<ServerInfo>;
  /** Throws if the server does not answer. */
  ping(options?: CallOptions): Promise<void>;
}

/** How a client reaches its server. */
export interface ClientOptions extends TransportOptions {
  /** The module `apache-arrow`. Default: it is imported when it is needed. */
  readonly arrow?: ArrowLibrary;
}

/** Creates a client of the server at a URL. It opens no connection before the first request. */
export function createClient(options: ClientOptions): Client {
  const http = createTransport(options);
  const { arrow } = options;
  const readAs = (handle: string, format: RowsFormat, select: SelectOptions = {}): Promise<SqlResponse> =>
    openFrame(http, handle, format, select);
  const info = async (call?: CallOptions): Promise<ServerInfo> => readJson(await http.send({ path: 'info', ...call }));
  let engines: readonly EngineName[] | undefined;
  /** Without a database, the server refuses SQL without an engine. */
  async function onlyEngine(signal: AbortSignal | undefined): Promise<EngineName | undefined> {
    try {
      engines ??= (await info({ signal })).engines;
    } catch (error) {
      // The answer to the SQL says what is wrong.
      if (!(error instanceof ClientError) || error.status === undefined) throw error;
    }
    return engines?.length === 1 ? engines[0] : undefined;
  }
  async function queryAs(sql: string, format: RowsFormat, query: QueryOptions = {}): Promise<SqlResponse> {
    const { engine = await onlyEngine(query.signal) } = query;
    return sendSql(http, queryRequest(sql, format, { ...query, engine }), query.onProgress);
  }
  return {
    send: (request) => http.send(request),
    read: async <R>(handle: string, select?: SelectOptions & RowOptions) =>
      rowsOf<R>(await readAs(handle, 'json', select), select),
    readArrow: async (handle, select) => tableOf(await readAs(handle, 'arrow', select), arrow),
    readStream: async (handle, select) => streamed(await readAs(handle, select.format, select)),
    query: async <R>(sql: string, query?: QueryOptions & RowOptions) =>
      rowsOf<R>(await queryAs(sql, 'json', query), query),
    queryArrow: async (sql, query) => tableOf(await queryAs(sql, 'arrow', query), arrow),
    queryStream: async (sql, query) => streamed(await queryAs(sql, query.format, query)),
    put: (handle, data, upload) => write(http, { method: 'PUT', handle }, data, { ...upload, arrow }),
    append: (handle, data, upload) => write(http, { method: 'POST', handle }, data, { ...upload, arrow }),
    create: (data, upload) => write(http, { method: 'POST', handle: undefined }, data, { ...upload, arrow }),
    async keep(sql, keep = {}) {
      const { engine = await onlyEngine(keep.signal) } = keep;
      return writtenFrame((await sendSql(http, keepRequest(sql, { ...keep, engine }), keep.onProgress)).response);
    },
    list: (list) => listFrames(http, list),
    describe: (handle, call) => describeFrame(http, handle, call),
    setTtl: (handle, ttl, call) => setFrameTtl(http, handle, ttl, call),
    rename: (handle, newHandle, call) => renameFrame(http, handle, newHandle, call),
    drop: (handle, call) => dropFrame(http, handle, call),
    running: (call) => listRunning(http, call),
    cancel: (id, call) => cancelQuery(http, id, call),
    info,
    async ping(call) {
      await readText((await http.send({ path: 'ping', ...call })).body, MAX_PING_BYTES);
    },
  };
}

const MAX_PING_BYTES = 1024;

async function openFrame(
  http: Transport,
  handle: string,
  format: RowsFormat,
  options: SelectOptions,
): Promise<SqlResponse> {
  return { response: await http.send(frameRequest(handle, format, options)), end: () => undefined };
}

async function write(
  http: Transport,
  target: { readonly method: 'PUT' | 'POST'; readonly handle: string | undefined },
  data: UploadData,
  { arrow, ...options }: UploadOptions & { readonly arrow: ArrowLibrary | undefined },
): Promise<WrittenFrame> {
  return writtenFrame(await http.send(writeRequest(target, await uploadOf(data, arrow), options)));
}

async function rowsOf<R>({ response, end }: SqlResponse, { longs = 'bigint' }: RowOptions = {}): Promise<Result<R>> {
  const result: Result<unknown> = await readResult(response, { longs, onLeft: end });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The caller knows the columns.
  return result as Result<R>;
}

function streamed({ response, end }: SqlResponse): ReadableStream<Uint8Array> {
  return streamOf(response.body, end);
}

async function tableOf({ response }: SqlResponse, given: ArrowLibrary | undefined): Promise<Table> {
  try {
    return await (await loadArrow(given)).tableFromIPC(response.body);
  } finally {
    await response.body.return();
  }
}
