import { type Client, readResponse } from '../client/client.ts';
import { NEW_FRAME } from '../client/server-responses.ts';
import type { WrittenFrame } from './report-frame.ts';

/** A statement whose result becomes a frame. */
export interface KeepSql {
  readonly sql: string;
  readonly engine: string;
  /** Values for `?` and `$1`, as JSON. */
  readonly params: readonly string[];
  readonly handle: string;
  /** Seconds until the frame expires; undefined: never. */
  readonly ttl: string | undefined;
  /** Whether the frame must be new. Default: an existing one is replaced. */
  readonly ifNew?: boolean;
  /** The SQL in which the position of an error is shown; empty: nowhere. Default: the statement. */
  readonly shownSql?: string;
  /** Aborts only this statement. */
  readonly signal?: AbortSignal;
}

/** The most bytes of the metadata of a frame. */
export const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

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
export function withParams(request: object, params: readonly string[]): string {
  const json = JSON.stringify(request);
  return params.length === 0 ? json : `${json.slice(0, -1)},"params":[${params.map(exactValue).join(',')}]}`;
}

/** The server takes an integer that a JavaScript number cannot hold only as a string of its digits. */
function exactValue(text: string): string {
  const digits = text.trim();
  return /^-?\d+$/.test(digits) && !Number.isSafeInteger(Number(digits)) ? JSON.stringify(digits) : digits;
}
