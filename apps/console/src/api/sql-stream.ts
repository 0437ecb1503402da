import {
  ClientError,
  type ClientResponse,
  createJsonTableReader,
  cutOff,
  errorFromText,
  type JsonTableReader,
  queryRequest,
} from '@svc/client/internal';
import type { Api, ColumnInfo, EngineName } from './api.ts';
import { type ArrowReader, createArrowReader, UnknownArrow } from './arrow-reader.ts';
import type { ArrowTable } from './decode-arrow.ts';

/** An answer with more is ended: what a page can hold is not what a server can. */
export const MAX_ROWS = 200_000;
export const MAX_BYTES = 64 * 1024 * 1024;

/** A statement to run. */
export interface SqlRequest {
  readonly sql: string;
  readonly engine: EngineName;
  /** The query's id in the server's list. */
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
  /** The number of changed rows, if it is known. */
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
    // Rows on the page must not come again.
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
  // One row more than is shown: if it comes, there are more.
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
    if (reader.columns === undefined) return { end: 'acted', timing, ...changedRows(reader, response) };
    return { end: maxRows !== null && read.rows >= maxRows ? 'limited' : 'complete', timing };
  } finally {
    // Also when the second format is tried, and after too long an answer.
    await response.body.return();
  }
}

/** Reads the body until its end, a cut, or the limit. */
async function readBody(
  { body }: ClientResponse,
  reader: ArrowReader | JsonTableReader,
  observer: SqlObserver,
): Promise<{ readonly rows: number; readonly isFull: boolean }> {
  let rows = 0;
  let bytes = 0;
  let hasColumns = false;
  for (;;) {
    const { done, value: chunk } = await body.next().catch(ended);
    if (done === true) return { rows, isFull: false };
    bytes += chunk.length;
    const batches = batchesOf(reader, chunk);
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

function batchesOf(reader: ArrowReader | JsonTableReader, chunk: Uint8Array): readonly AnswerBatch[] {
  if (!('members' in reader))
    return reader.push(chunk).map((table) => ({ kind: 'arrow', table, rowCount: table.rows }));
  const rows = reader.push(chunk);
  return rows.length > 0 ? [{ kind: 'json', rows, rowCount: rows.length }] : [];
}

/** A broken connection ends the answer: the rows before stay. */
function ended(error: unknown): { readonly done: true; readonly value: undefined } {
  if (error instanceof ClientError) return { done: true, value: undefined };
  throw error;
}

/** The database answers a statement without rows with `{"dml":"OK","updated":3}`. */
function changedRows(
  reader: ArrowReader | JsonTableReader,
  { status, requestId }: ClientResponse,
): { readonly changedRows?: number } {
  const members: JsonTableReader['members'] = 'members' in reader ? reader.members : new Map();
  if (members.has('error')) throw errorFromText(status, JSON.stringify(Object.fromEntries(members)), { requestId });
  if (members.size === 0) throw cutOff({ requestId });
  const updated = members.get('updated');
  return typeof updated === 'number' ? { changedRows: updated } : {};
}

/** How long the server took until the first rows, in milliseconds. */
export interface ServerTiming {
  /** The wait for a free engine. */
  readonly queueMs: number;
  readonly executeMs: number;
}

/** Returns the timings in a `Server-Timing` header; undefined if it has none of the server's own. */
export function parseServerTiming(header: string | null): ServerTiming | undefined {
  const queueMs = durationOf(header, 'queue');
  const executeMs = durationOf(header, 'execute');
  return executeMs === undefined ? undefined : { queueMs: queueMs ?? 0, executeMs };
}

/** The server's own entries follow those of the database, so the last one counts. */
function durationOf(header: string | null, name: string): number | undefined {
  const entries = (header ?? '').split(',').map((entry) => entry.trim().split(/\s*;\s*/));
  const entry = entries.findLast(([first]) => first === name);
  const text = entry?.find((part) => part.startsWith('dur='))?.slice('dur='.length);
  const value = Number(text);
  return text === undefined || text === '' || !Number.isFinite(value) ? undefined : value;
}

/**
 * Rows of an answer that have arrived together: decoded Arrow columns, or rows of a JSON table. A cell of those is its JSON
 * text exactly as it was sent: `null`, `"a text"`, `1.50`, `[1,2]`. Only the first `rowCount` rows belong to the
 * answer.
 */
export type AnswerBatch =
  | { readonly kind: 'arrow'; readonly table: ArrowTable; readonly rowCount: number }
  | { readonly kind: 'json'; readonly rows: readonly (readonly string[])[]; readonly rowCount: number };

/** How an answer ended: with its last row, at the console's limit, by the user, or before its end by a failure. */
export type AnswerEnd = 'complete' | 'limited' | 'cancelled' | 'cut';
