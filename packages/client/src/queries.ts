import type { CallOptions, QueryOptions, RunningQuery } from './options.ts';
import { exactJson } from './frames.ts';
import { limitOf, type RowsFormat, rowsRequest } from './rows.ts';
import { ClientError, cutOff, errorFromText, invalidResponse } from './http/client-error.ts';
import {
  type ClientRequest,
  type ClientResponse,
  type SingleRequest,
  type Transport,
  uniqueId,
} from './http/request.ts';
import { readJson } from './http/transport.ts';
import { InexactError, type Longs, TableError } from './json/exact-json.ts';
import { type Column, createJsonTableReader, type Row, rowReader } from './json/json-table.ts';

type Http = Transport<SingleRequest>;

/** Lists the running SQL. */
export async function listRunning(http: Http, options: CallOptions = {}): Promise<readonly RunningQuery[]> {
  const { queries } = await readJson<{ readonly queries: readonly RunningQuery[] }>(
    await http.send({ path: 'queries', ...options }),
  );
  return queries;
}

/** Ends the SQL of a request. Returns true if it ran. */
export async function cancelQuery(http: Http, id: string, options: CallOptions = {}): Promise<boolean> {
  const path = `queries/${encodeURIComponent(id)}`;
  const { status, body } = await http.send({ method: 'DELETE', path, ...options, accept: [404] });
  await body.return();
  return status === 204;
}

const PROGRESS_MS = 500;

/** A response to SQL. */
export interface SqlResponse {
  readonly response: ClientResponse;
  /** Ends the SQL on the server, if its rows are not needed any more. */
  readonly end: () => void;
}

/** Sends a request with SQL. If it is aborted, the SQL ends too, also behind a proxy that keeps its own connection. */
export async function sendSql(
  http: Transport,
  request: ClientRequest,
  onProgress?: (query: RunningQuery) => void,
): Promise<SqlResponse> {
  const { requestId = uniqueId() } = request;
  let isEnded = false;
  const end = (): void => {
    // If the server does not answer, the closed connection has to tell it.
    if (!isEnded) endQuery(http, requestId).catch(() => undefined);
    isEnded = true;
  };
  const answered = new AbortController();
  if (onProgress !== undefined) void reportProgress(http, requestId, onProgress, answered.signal);
  try {
    return { response: await http.send({ ...request, requestId, onAbort: end }), end };
  } finally {
    answered.abort();
  }
}

/** Ends SQL if it still runs. For ended SQL, browsers would report a 404 as an error of the page. */
async function endQuery(http: Transport, id: string): Promise<void> {
  const running = await listRunning(http);
  if (running.some((query) => query.id === id)) await cancelQuery(http, id);
}

async function reportProgress(
  http: Transport,
  id: string,
  report: (query: RunningQuery) => void,
  until: AbortSignal,
): Promise<void> {
  while (!until.aborted) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, PROGRESS_MS);
      until.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
    });
    // Not to know the progress is no reason to end the query.
    const running = until.aborted ? [] : await listRunning(http, { signal: until }).catch(() => []);
    const query = running.find((one) => one.id === id);
    if (query !== undefined && !until.aborted) report(query);
  }
}

/** Makes the request to run SQL. */
export function queryRequest(
  sql: string,
  format: RowsFormat,
  options: QueryOptions,
): SingleRequest & Pick<ClientRequest, 'repeat'> {
  const { engine, params = [], signal, requestId } = options;
  const rows = rowsRequest(format, options);
  return {
    method: 'POST',
    path: rows.path,
    params: { ...rows.params, engine, limit: limitOf(options), param: params.map(exactJson) },
    headers: { 'content-type': 'application/sql' },
    body: sql,
    signal,
    requestId,
    // SQL over frames only reads. SQL for the time-series database may write, and that may be the default.
    repeat: engine === 'local' || engine === 'scheduler' ? 'read' : 'never',
  };
}

/** The rows of a frame or of SQL, to be read once. */
export interface Result<R = Row> extends AsyncIterable<R> {
  /** The id of the request. */
  readonly id: string;
  /** Empty if the statement has no rows, such as an INSERT of the time-series database. */
  readonly columns: readonly Column[];
  /** How many rows the whole frame has; undefined for SQL. */
  readonly total: number | undefined;
  /** The version of the frame; undefined for SQL. */
  readonly version: string | undefined;
  /** Reads all rows into memory. */
  rows(): Promise<R[]>;
  /** The rows in groups as they arrive: faster than one by one. */
  batches(): AsyncIterable<readonly R[]>;
}

/** How a result is read. */
interface ResultOptions {
  readonly longs: Longs;
  /** Called if the rows are not read to their end. */
  readonly onLeft: () => void;
}

/** Makes the result of a response, when its columns have come. */
export async function readResult(response: ClientResponse, { longs, onLeft }: ResultOptions): Promise<Result> {
  const { headers, requestId, status } = response;
  const reader = createJsonTableReader();
  const push = (chunk: Uint8Array): readonly (readonly string[])[] => checked(() => reader.push(chunk), requestId);
  // No rows come before the columns.
  let first: readonly (readonly string[])[] = [];
  while (reader.columns === undefined && !reader.isComplete) {
    const { done, value } = await response.body.next();
    if (done === true) throw cutOff({ requestId });
    first = push(value);
  }
  if (reader.isComplete) throwIfFailed();
  const columns = reader.columns ?? [];
  const toRow = rowReader(columns, longs);
  const rowsOf = (cells: readonly (readonly string[])[]): Row[] => checked(() => cells.map(toRow), requestId);

  /** The time-series database reports some errors with status 200, even after rows. */
  function throwIfFailed(): void {
    if (!reader.members.has('error')) return;
    throw errorFromText(status, JSON.stringify(Object.fromEntries(reader.members)), { requestId });
  }

  let isRead = false;
  async function* batches(): AsyncGenerator<readonly Row[], void> {
    if (isRead) throw new TypeError('The rows of this result have been read already.');
    isRead = true;
    try {
      if (first.length > 0) yield rowsOf(first);
      first = [];
      for await (const chunk of response.body) {
        const cells = push(chunk);
        if (cells.length > 0) yield rowsOf(cells);
      }
      if (!reader.isComplete) throw cutOff({ requestId });
      throwIfFailed();
    } finally {
      await response.body.return();
      if (!reader.isComplete) onLeft();
    }
  }

  const total = headers.get('x-total-count');
  return {
    id: requestId,
    columns,
    total: total === null ? undefined : Number(total),
    version: headers.get('etag')?.replace(/^(?:W\/)?"(.*?)(?:-gzip)?"$/, '$1'),
    batches,
    async rows() {
      const rows: Row[] = [];
      for await (const batch of batches()) for (const row of batch) rows.push(row);
      return rows;
    },
    async *[Symbol.asyncIterator]() {
      for await (const batch of batches()) yield* batch;
    },
  };
}

/** Names the request in an error about its bytes or values. */
function checked<T>(read: () => T, requestId: string): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof TableError) {
      throw invalidResponse(cause.message, { requestId, cause });
    }
    if (cause instanceof InexactError) {
      const hint = "Read it with longs: 'bigint' or 'string'.";
      throw new ClientError(cause.message, { code: 'inexact_value', hint, requestId, cause });
    }
    throw cause;
  }
}
