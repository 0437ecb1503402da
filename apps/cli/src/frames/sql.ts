import { ServiceError } from '@svc/errors';
import type { ResultFormat } from '@svc/frames';
import {
  beginsUpdate,
  type CreateStatement,
  type DropStatement,
  type InsertStatement,
  parseUpdate,
  type RenameStatement,
  type UpdateStatement,
} from '@svc/frames/statements';
import { outputContentType } from '../args/formats.ts';
import { type Client, type ClientResponse, readResponse } from '../client/client.ts';
import { refusalOf } from '../client/request-errors.ts';
import { defaultEngine, framePath } from '../client/requests.ts';
import { ACKNOWLEDGEMENT, NEW_FRAME, parseResponse } from '../client/server-responses.ts';
import { CliError } from '../errors.ts';
import { MAX_RESPONSE_BYTES, withNearestHandle, type WrittenFrame } from './frame-requests.ts';
import { printRows, type PrintRowsOptions, type ReadResult } from '../output/print-result.ts';
import { formatCount } from '../text.ts';

/** One statement, and how to print its result. */
export interface SqlRun extends Omit<PrintRowsOptions, 'lastLine' | 'totalRows'> {
  readonly sql: string;
  /** Undefined: the default of the server, or `local` if it lacks the time-series database of its default. */
  readonly engine: string | undefined;
  /** Values for `?` and `$1`, as JSON. */
  readonly params: readonly string[];
  /** The rows to print, as the parameter `limit` of the server. Default: all. */
  readonly limit?: string | undefined;
  /** Width of the terminal for errors, in columns. */
  readonly errorWidth: number;
  /** Aborts only this statement. */
  readonly signal?: AbortSignal;
}

/** Runs a statement and prints its result. */
export async function runSql(client: Client, run: SqlRun): Promise<void> {
  const { sql, target, errorWidth } = run;
  const response = await sendSql(client, run, target.format === 'table' ? 'json' : target.format);
  await printRows(response, {
    ...run,
    lastLine: (whole) => {
      // The database reports some errors with status 200, even after rows.
      const refusal = refusalOf(whole.members, { sql, width: errorWidth, kind: 'read' });
      if (refusal !== undefined) throw refusal;
      return describeResult(whole);
    },
  });
}

/** Sends a statement. A server without a database refuses it before anything runs, so it can be sent again. */
async function sendSql(client: Client, run: SqlRun, fmt: ResultFormat): Promise<ClientResponse> {
  try {
    return await sendTo(client, run, fmt, run.engine);
  } catch (error) {
    const isMissing = error instanceof CliError && error.code === 'tsdb_not_configured';
    if (run.engine !== undefined || !isMissing) throw error;
    const engine = await defaultEngine(client).catch(() => undefined);
    if (engine === undefined || engine === 'tsdb') throw error;
    return sendTo(client, run, fmt, engine);
  }
}

function sendTo(client: Client, run: SqlRun, fmt: ResultFormat, engine: string | undefined): Promise<ClientResponse> {
  const { sql, params, limit, signal } = run;
  return client.send({
    method: 'POST',
    path: fmt === 'json' ? 'exec' : 'exp',
    params: {
      fmt,
      ...(engine !== undefined && { engine }),
      ...(limit !== undefined && { limit }),
      ...(params.length > 0 && { param: params }),
    },
    headers: { 'content-type': 'application/sql' },
    body: sql,
    // SQL over frames only reads; SQL in the database may write.
    isAction: engine !== 'local' && engine !== 'scheduler',
    isLong: true,
    expects: { contentType: outputContentType(fmt) },
    sql,
    ...(signal && { signal }),
  });
}

function describeResult({ members, rows }: ReadResult): string {
  if (rows !== undefined) return formatCount(rows, 'row');
  const { word, updated } = parseResponse(ACKNOWLEDGEMENT, members);
  return typeof updated === 'number' ? `${word}, ${formatCount(updated, 'row')} updated` : word;
}

/** A statement that changes frames. */
export interface WriteSql {
  readonly sql: string;
  readonly update: UpdateStatement;
  /** What runs the query in the statement, if it has one: not the time-series database. */
  readonly engine: string;
  /** Values for `?` and `$1`, as JSON. */
  readonly params: readonly string[];
  readonly signal: AbortSignal;
}

/** What a statement has written, or what it did in a line. */
export type Wrote = WrittenFrame | string;

/** True if a statement changes frames, unless it is for a database: that has such statements of its own. */
export function isWrite(sql: string): boolean {
  return beginsUpdate(sql);
}

/** Parses a change of frames; undefined if the statement is a query. */
export async function parseWrite(sql: string, errorWidth: number): Promise<UpdateStatement | undefined> {
  try {
    return await parseUpdate(sql);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { message, code, hint, position } = error;
    const body = { error: message, code, hint, position };
    throw refusalOf(body, { sql, width: errorWidth, kind: 'write' }) ?? error;
  }
}

/** Runs a change of frames. Each is one request, and none of them goes to `/exec`. */
export async function writeSql(client: Client, write: WriteSql): Promise<Wrote> {
  const { update } = write;
  if (update.kind === 'create') return create(client, update, write);
  if (update.kind === 'insert') return insert(client, update, write);
  if (update.kind === 'rename') return rename(client, update, write);
  return update.kind === 'drop' ? drop(client, update, write) : 'OK';
}

async function create(client: Client, update: CreateStatement, write: WriteSql): Promise<Wrote> {
  const { handle, isReplacing, isOptional, isDeclared, select } = update;
  const { sql, engine, params, signal } = write;
  framePath(handle);
  try {
    return await keepSql(client, {
      sql: select,
      // If the columns are declared, the position of an error is not one in what the user wrote.
      shownSql: isDeclared ? '' : sql,
      engine: isDeclared ? 'local' : engine,
      params: isDeclared ? [] : params,
      handle,
      ttl: undefined,
      ifNew: !isReplacing,
      signal,
    });
  } catch (error) {
    if (isReplacing || !(error instanceof CliError) || error.code !== 'handle_exists') throw error;
    if (isOptional) return `${handle} exists already`;
    const hint = `Use CREATE OR REPLACE TABLE, or CREATE TABLE IF NOT EXISTS.`;
    throw new CliError('refused', error.message, { hint, code: error.code });
  }
}

async function insert(client: Client, update: InsertStatement, write: WriteSql): Promise<Wrote> {
  const { handle, columns, select } = update;
  const { sql, engine, params, signal } = write;
  const path = framePath(handle);
  const response = await withNearestHandle(client, handle, signal, () =>
    client.send({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json' },
      body: withParams({ sql: select, engine, ...(columns && { columns }) }, params),
      isAction: true,
      sql,
      signal,
    }),
  );
  return { handle, ...(await readResponse(response, NEW_FRAME, MAX_RESPONSE_BYTES)), what: 'appended' };
}

async function rename(client: Client, update: RenameStatement, write: WriteSql): Promise<Wrote> {
  const { handle, newHandle } = update;
  const body = JSON.stringify({ handle: newHandle });
  const headers = { 'content-type': 'application/json' };
  const response = await changeExisting(client, update, write, { method: 'PATCH', headers, body });
  if (response === undefined) return missing(handle);
  return { handle: newHandle, ...(await readResponse(response, NEW_FRAME, MAX_RESPONSE_BYTES)), what: 'renamed' };
}

async function drop(client: Client, update: DropStatement, write: WriteSql): Promise<Wrote> {
  const { handle } = update;
  const request = { method: 'DELETE', expects: { statuses: [204] } } as const;
  const response = await changeExisting(client, update, write, request);
  return response === undefined ? missing(handle) : `dropped ${handle}`;
}

function missing(handle: string): string {
  return `there is no frame ${handle}`;
}

/** Changes a frame. Undefined if the frame does not exist, and `IF EXISTS` allows it. */
async function changeExisting(
  client: Client,
  { handle, isOptional }: DropStatement | RenameStatement,
  { signal }: WriteSql,
  request: Pick<Parameters<Client['send']>[0], 'method' | 'headers' | 'body' | 'expects'>,
): Promise<ClientResponse | undefined> {
  const path = framePath(handle);
  const send = () => client.send({ ...request, path, isAction: true, signal });
  try {
    return await (isOptional ? send() : withNearestHandle(client, handle, signal, send));
  } catch (error) {
    const isMissing = error instanceof CliError && error.code === 'handle_not_found';
    if (isOptional && isMissing) return undefined;
    throw error;
  }
}

/** A statement whose result becomes a frame. */
export interface KeepSql {
  readonly sql: string;
  readonly engine: string;
  /** Values for `?` and `$1`, as JSON. */
  readonly params: readonly string[];
  readonly handle: string;
  /** Seconds until the frame expires; undefined: never. */
  readonly ttl: string | undefined;
  /** The frame must be new. Default: an existing one is replaced. */
  readonly ifNew?: boolean;
  /** The SQL to show an error in; empty: none. Default: the statement. */
  readonly shownSql?: string;
  /** Aborts only this statement. */
  readonly signal?: AbortSignal;
}

/** Stores the result of a statement as a frame. */
export async function keepSql(client: Client, keep: KeepSql): Promise<WrittenFrame> {
  const { sql, engine, params, handle, ttl, ifNew = false, shownSql = sql, signal } = keep;
  const response = await client.send({
    method: 'POST',
    path: 'frames',
    headers: { 'content-type': 'application/json', ...(ifNew && { 'if-none-match': '*' }) },
    body: withParams({ sql, engine, handle, ...(ttl !== undefined && { ttl: Number(ttl) }) }, params),
    isAction: true,
    expects: { statuses: [200, 201] },
    sql: shownSql,
    ...(signal && { signal }),
  });
  const { rows, version } = await readResponse(response, NEW_FRAME, MAX_RESPONSE_BYTES);
  return { handle, rows, version, what: response.status === 201 ? 'new' : 'replaced' };
}

/** Writes the parameters as they were given: `1.0` is a DOUBLE, and `1` an integer. */
function withParams(request: object, params: readonly string[]): string {
  const json = JSON.stringify(request);
  return params.length === 0 ? json : `${json.slice(0, -1)},"params":[${params.map(exactValue).join(',')}]}`;
}

/** An integer beyond JavaScript's numbers is sent as a string of its digits. */
function exactValue(text: string): string {
  const digits = text.trim();
  return /^-?\d+$/.test(digits) && !Number.isSafeInteger(Number(digits)) ? JSON.stringify(digits) : digits;
}
