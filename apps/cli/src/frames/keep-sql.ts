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
}

const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** Stores the result of a statement as a frame. */
export async function keepSql(client: Client, { sql, engine, params, handle, ttl }: KeepSql): Promise<WrittenFrame> {
  const response = await client.send({
    method: 'POST',
    path: 'frames',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      sql,
      engine,
      handle,
      ...(ttl !== undefined && { ttl: Number(ttl) }),
      ...(params.length > 0 && { params: params.map(exactValue) }),
    }),
    isAction: true,
    expects: { statuses: [200, 201] },
    sql,
  });
  const { rows, version } = await readResponse(response, NEW_FRAME, MAX_RESPONSE_BYTES);
  return { handle, rows, version, what: response.status === 201 ? 'new' : 'replaced' };
}

/** An integer that a JavaScript number cannot hold is sent as a string of its digits. */
function exactValue(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? text.trim() : value;
}
