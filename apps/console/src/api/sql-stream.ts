import { ClientError, type ClientResponse, cutOff, errorFromText, queryRequest } from '@svc/client/internal';
import type { AnswerBatch } from '../rows/answer-batch.ts';
import type { Api } from './api.ts';
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
 * Runs a statement and reads its answer as it arrives. Throws a `ClientError` if the server refuses it or does not
 * answer, and what `signal` says when it is aborted.
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
  const sent = queryRequest(sql, format, { engine, limit, requestId, signal });
  const isJson = format === 'json';
  const response = await api.send(isJson ? { ...sent, params: { ...sent.params, quoteLargeNum: true } } : sent);
  const timing = parseServerTiming(response.headers.get('server-timing'));
  const reader = isJson ? createJsonTableReader() : createArrowReader();
  try {
    const read = await readBody(response, reader, observer);
    if (reader.columns === undefined && !reader.isComplete) throw cutOff({ requestId: response.requestId });
    if (read.isFull) return { end: 'limited', timing };
    if (!reader.isComplete) return { end: 'cut', timing };
    if (reader.columns === undefined) return { end: 'acted', timing, ...changedRows(reader.members, response) };
    return { end: maxRows !== null && read.rows >= maxRows ? 'limited' : 'complete', timing };
  } finally {
    // Also when the second format is tried, and after an answer that is too long.
    await response.body.return();
  }
}

/** Reads the body until its end, a cut, or the limit. */
async function readBody(
  { body }: ClientResponse,
  reader: TableReader,
  observer: SqlObserver,
): Promise<{ readonly rows: number; readonly isFull: boolean }> {
  let rows = 0;
  let bytes = 0;
  let hasColumns = false;
  for (;;) {
    const { done, value: chunk } = await body.next().catch(ended);
    if (done === true) return { rows, isFull: false };
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

/** A connection that broke ends the answer: the rows before stay. */
function ended(error: unknown): { readonly done: true; readonly value: undefined } {
  if (error instanceof ClientError) return { done: true, value: undefined };
  throw error;
}

/** The database answers a statement without rows with `{"dml":"OK","updated":3}`. */
function changedRows(
  members: TableReader['members'],
  { status, requestId }: ClientResponse,
): { readonly changedRows?: number } {
  if (members.has('error')) throw errorFromText(status, JSON.stringify(Object.fromEntries(members)), { requestId });
  if (members.size === 0) throw cutOff({ requestId });
  const updated = members.get('updated');
  return typeof updated === 'number' ? { changedRows: updated } : {};
}
