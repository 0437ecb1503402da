import { ServiceError } from '@svc/errors';
import {
  beginsUpdate,
  type CreateStatement,
  type DropStatement,
  type InsertStatement,
  parseUpdate,
  type RenameStatement,
  type UpdateStatement,
} from '@svc/frames/statements';
import { type Client, type ClientResponse, readResponse } from '../client/client.ts';
import { framePath } from '../client/frame-path.ts';
import { refusalOf } from '../client/refusal.ts';
import { NEW_FRAME } from '../client/server-responses.ts';
import { CliError } from '../errors/cli-error.ts';
import { keepSql, MAX_RESPONSE_BYTES, withParams } from './keep-sql.ts';
import { withNearestHandle } from './nearest-handle.ts';
import type { WrittenFrame } from './report-frame.ts';

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

/** Whether a statement changes frames, unless it is for a database, which has such statements of its own. */
export function isWrite(sql: string): boolean {
  return beginsUpdate(sql);
}

/** Parses a statement that changes frames; undefined if it is a query. */
export function parseWrite(sql: string, errorWidth: number): UpdateStatement | undefined {
  try {
    return parseUpdate(sql);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { message, code, hint, position } = error;
    const body = { error: message, code, hint, position };
    throw refusalOf(body, { sql, width: errorWidth, kind: 'write' }) ?? error;
  }
}

/** Runs a statement that changes frames. Each is one request that writes, and none of them goes to `/exec`. */
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

/** Sends a change of a frame. Undefined if the frame does not exist, and `IF EXISTS` allows that. */
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
