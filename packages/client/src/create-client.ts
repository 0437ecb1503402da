import type { Table } from 'apache-arrow';
import { framePath } from './frame-path.ts';
import { keepSql, quotedName, writeFrame } from './frame-writes.ts';
import type { ClientRequest, Transport } from './http/request.ts';
import { createTransport, type TransportOptions } from './http/transport.ts';
import { type ArrowLibrary, loadArrow } from './load-arrow.ts';
import type { Client } from './client.ts';
import type { CallOptions, ListOptions, QueryOptions, RowOptions, SelectOptions, StreamOptions } from './options.ts';
import { readText } from './http/response-body.ts';
import { readJson } from './http/read-json.ts';
import { readResult, type Result } from './result.ts';
import { cancelQuery, listRunning, sendSql, type SqlResponse } from './running-queries.ts';
import { streamOf } from './stream-of.ts';
import type { FrameInfo } from './types.ts';
import { exactJson } from './upload.ts';

/** How a client reaches its server. */
export interface ClientOptions extends TransportOptions {
  /** The module `apache-arrow`. Default: it is imported when it is needed. */
  readonly arrow?: ArrowLibrary;
}

/** Creates a client of the server at a URL. It opens no connection before the first request. */
export function createClient(options: ClientOptions): Client {
  const http = createTransport(options);
  const { arrow } = options;
  const readAs = (handle: string, format: Format, select: SelectOptions = {}): Promise<SqlResponse> =>
    openFrame(http, handle, format, select);
  const queryAs = (sql: string, format: Format, query: QueryOptions = {}): Promise<SqlResponse> =>
    openQuery(http, sql, format, query);
  return {
    send: (request) => http.send(request),
    read: async <R>(handle: string, select?: SelectOptions & RowOptions) =>
      rowsOf<R>(await readAs(handle, 'json', select), select),
    readArrow: async (handle, select) => tableOf(await readAs(handle, 'arrow', select), arrow),
    readStream: async (handle, select) => streamOf(await readAs(handle, select.format, select)),
    query: async <R>(sql: string, query?: QueryOptions & RowOptions) =>
      rowsOf<R>(await queryAs(sql, 'json', query), query),
    queryArrow: async (sql, query) => tableOf(await queryAs(sql, 'arrow', query), arrow),
    queryStream: async (sql, query) => streamOf(await queryAs(sql, query.format, query)),
    put: (handle, data, upload) => writeFrame(http, { method: 'PUT', handle }, data, { ...upload, arrow }),
    append: (handle, data, upload) => writeFrame(http, { method: 'POST', handle }, data, { ...upload, arrow }),
    create: (data, upload) => writeFrame(http, { method: 'POST', handle: undefined }, data, { ...upload, arrow }),
    keep: (sql, keep = {}) => keepSql(http, sql, keep),
    list: (list) => listFrames(http, list),
    describe: async (handle, call) => readJson(await http.send({ path: framePath(handle), ...call })),
    async setTtl(handle, ttl, call) {
      const headers = { 'content-type': 'application/json' };
      const request = { method: 'PATCH', path: framePath(handle), headers, body: JSON.stringify({ ttl }) } as const;
      return readJson(await http.send({ ...request, ...call }));
    },
    async drop(handle, call) {
      const { body } = await http.send({ method: 'DELETE', path: framePath(handle), ...call });
      await body.return();
    },
    running: (call) => listRunning(http, call),
    cancel: (id, call) => cancelQuery(http, id, call),
    info: async (call) => readJson(await http.send({ path: 'info', ...call })),
    async ping(call) {
      await readText((await http.send({ path: 'ping', ...call })).body, MAX_PING_BYTES);
    },
  };
}

const MAX_PING_BYTES = 1024;

type Format = StreamOptions['format'] | 'json';

async function openFrame(
  http: Transport,
  handle: string,
  format: Format,
  options: SelectOptions,
): Promise<SqlResponse> {
  const { signal, requestId } = options;
  const request = { ...rowsRequest(format, options), signal, requestId };
  // Rows have a limit of 1000 unless there is another.
  const limit = limitOf(options) ?? (format === 'json' ? '1,' : undefined);
  const response = await http.send({ ...request, params: { handle, ...request.params, limit } });
  return { response, end: () => undefined };
}

function openQuery(http: Transport, sql: string, format: Format, options: QueryOptions): Promise<SqlResponse> {
  const { engine, params = [], signal, requestId, onProgress } = options;
  const rows = rowsRequest(format, options);
  const request: ClientRequest = {
    ...rows,
    method: 'POST',
    params: { ...rows.params, engine, limit: limitOf(options), param: params.map(exactJson) },
    headers: { 'content-type': 'application/sql' },
    body: sql,
    signal,
    requestId,
    // SQL over frames only reads; that of the time-series database, which may be the default, may write.
    repeat: engine === 'local' || engine === 'scheduler' ? 'read' : 'never',
  };
  return sendSql(http, request, onProgress);
}

function rowsRequest(format: Format, { columns }: SelectOptions): Pick<ClientRequest, 'path' | 'params'> {
  const cols = columns?.map(quotedName).join();
  return { path: format === 'json' ? 'exec' : 'exp', params: { fmt: format, cols } };
}

/** Writes which rows to read as the server counts them: from 1, both ends included. */
function limitOf({ limit, offset = 0 }: SelectOptions): string | undefined {
  if (offset === 0 || limit === 0) return limit === undefined ? undefined : String(limit);
  return `${offset + 1},${limit === undefined ? '' : offset + limit}`;
}

async function rowsOf<R>({ response, end }: SqlResponse, { longs = 'bigint' }: RowOptions = {}): Promise<Result<R>> {
  const result: Result<unknown> = await readResult(response, { longs, onLeft: end });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The caller knows the columns.
  return result as Result<R>;
}

async function tableOf({ response }: SqlResponse, given: ArrowLibrary | undefined): Promise<Table> {
  try {
    return await (await loadArrow(given)).tableFromIPC(response.body);
  } finally {
    await response.body.return();
  }
}

const PAGE = 500;

async function* listFrames(http: Transport, options: ListOptions = {}): AsyncGenerator<FrameInfo, void> {
  const { prefix, ...call }: ListOptions & CallOptions = options;
  let after: string | undefined;
  for (;;) {
    const response = await http.send({ path: 'frames', params: { prefix, after, limit: PAGE }, ...call });
    const { frames } = await readJson<{ readonly frames: readonly FrameInfo[] }>(response);
    yield* frames;
    const last = frames.at(-1)?.handle;
    // A server that ignores the parameters of pages would cause an endless loop.
    if (frames.length !== PAGE || last === after) return;
    after = last;
  }
}
