import type { AnswerBatch } from '../rows/answer-batch.ts';
import type { Api } from './api.ts';
import { ApiError, ServerGone } from './api-error.ts';
import { createArrowReader, UnknownArrow } from './arrow-reader.ts';
import { createJsonTableReader } from './json-table-reader.ts';
import { parseServerTiming, type ServerTiming } from './server-timing.ts';
import type { TableReader } from './table-reader.ts';
import type { ColumnInfo, EngineName } from './types.ts';

/** An answer with more is ended: what a page can hold is not what a server can. */
export const MAX_ROWS = 200_000;
export const MAX_BYTES = 64 * 1024 * 1024;

/** A statement to run. */
export interface SqlRequest {
  readonly sql: string;
  readonly engine: EngineName;
  /** The id under which the server lists the query. */
  readonly requestId: string;
  readonly signal: AbortSignal;
  /** The limit of the server for one answer: SQL without a limit is refused if there is one. */
  readonly maxRows: number | null;
}

/** What happens while the answer arrives, in order. */
export interface SqlObserver {
  readonly columns: (columns: readonly ColumnInfo[]) => void;
  readonly rows: (batch: AnswerBatch) => void;
}

/** How an answer ended. */
export interface SqlAnswer {
  /**
   * `limited`: the answer has more rows, or may have. `cut`: the connection broke before the end. `acted`: the statement
   * has no rows, such as an INSERT of the time-series database.
   */
  readonly end: 'complete' | 'limited' | 'cut' | 'acted';
  readonly timing: ServerTiming | undefined;
  /** The rows that a statement without rows changed, if it is known. */
  readonly changedRows?: number;
}

/**
 * Runs a statement and reads its answer as it arrives. Throws an `ApiError` if the server refuses it, a `ServerGone` if it
 * does not answer, and what `signal` says when it is aborted.
 */
export async function runSql(api: Api, request: SqlRequest, observer: SqlObserver): Promise<SqlAnswer> {
  if (request.engine === 'tsdb') return readAnswer(api, request, observer, 'json');
  let hasBegun = false;
  const columns: SqlObserver['columns'] = (found) => {
    hasBegun = true;
    observer.columns(found);
  };
  try {
    return await readAnswer(api, request, { ...observer, columns }, 'arrow');
  } catch (error) {
    // Rows that were shown must not come again.
    if (hasBegun || !(error instanceof UnknownArrow)) throw error;
    return readAnswer(api, request, observer, 'json');
  }
}

async function readAnswer(
  api: Api,
  request: SqlRequest,
  observer: SqlObserver,
  format: 'arrow' | 'json',
): Promise<SqlAnswer> {
  const { sql, engine, requestId, signal, maxRows } = request;
  // One row more than is shown tells whether there are more.
  const limit = Math.min(MAX_ROWS + 1, maxRows ?? Infinity);
  // Ends the answer of the first format when the second is tried, and an answer that is too long.
  const ending = new AbortController();
  const response = await api.request(format === 'arrow' ? '/exp' : '/exec', {
    method: 'POST',
    params: { engine, fmt: format, limit, ...(format === 'json' && { quoteLargeNum: true }) },
    headers: { 'content-type': 'application/sql' },
    body: sql,
    requestId,
    signal: AbortSignal.any([signal, ending.signal]),
  });
  const timing = parseServerTiming(response.headers.get('server-timing'));
  const reader = format === 'arrow' ? createArrowReader() : createJsonTableReader();
  try {
    const read = await readBody(response, reader, observer, signal);
    if (reader.columns === undefined && !reader.isComplete)
      throw new ServerGone('The server ended the answer before its first row.');
    if (read.isFull) return { end: 'limited', timing };
    if (!reader.isComplete) return { end: 'cut', timing };
    if (reader.columns === undefined)
      return { end: 'acted', timing, ...changedRows(reader.members, response, requestId) };
    return { end: maxRows !== null && read.rows >= maxRows ? 'limited' : 'complete', timing };
  } finally {
    ending.abort();
  }
}

/** Reads the body until its end, a cut, or the limit. */
async function readBody(
  response: Response,
  reader: TableReader,
  observer: SqlObserver,
  signal: AbortSignal,
): Promise<{ readonly rows: number; readonly isFull: boolean }> {
  let rows = 0;
  let bytes = 0;
  let hasColumns = false;
  const body = response.body?.getReader();
  for (;;) {
    const chunk = await nextChunk(body, signal);
    if (chunk === undefined) return { rows, isFull: false };
    bytes += chunk.length;
    const batches = reader.push(chunk);
    if (!hasColumns && reader.columns !== undefined) {
      hasColumns = true;
      observer.columns(reader.columns);
    }
    for (const batch of batches) {
      observer.rows({ ...batch, rowCount: Math.min(batch.rowCount, MAX_ROWS - rows) });
      rows += batch.rowCount;
      if (rows > MAX_ROWS) return { rows: MAX_ROWS, isFull: true };
    }
    if (bytes > MAX_BYTES && !reader.isComplete) return { rows, isFull: true };
  }
}

/** Returns the next bytes; undefined at the end, and if the connection broke. */
async function nextChunk(
  body: ReadableStreamDefaultReader<Uint8Array> | undefined,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  try {
    return (await body?.read())?.value;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** The database answers a statement without rows with `{"dml":"OK","updated":3}`. */
function changedRows(
  members: TableReader['members'],
  response: Response,
  requestId: string,
): { readonly changedRows?: number } {
  const error = members.get('error');
  if (typeof error === 'string') {
    const { status } = response;
    const details = { code: `http_${status}`, status, hint: undefined, position: undefined, requestId };
    throw new ApiError(error, details);
  }
  if (members.size === 0) throw new ServerGone('The answer of the server is empty.');
  const updated = members.get('updated');
  return typeof updated === 'number' ? { changedRows: updated } : {};
}
