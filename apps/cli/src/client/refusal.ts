import * as v from 'valibot';
import { CliError } from '../errors/cli-error.ts';
import { REFUSAL } from './server-responses.ts';
import { sqlCaret } from '../text/sql-caret.ts';

/** What is known of the request that was refused. */
export interface RefusalOptions {
  /** The SQL that was sent, for a caret under the place of the error. */
  readonly sql?: string | undefined;
  /** Columns of the terminal the error is shown on. */
  readonly width: number;
}

/** The members of an error body, of this server or of the database behind it; undefined where it is none. */
export function refusalOf(body: unknown, { sql, width }: RefusalOptions): CliError | undefined {
  const parsed = v.safeParse(REFUSAL, body);
  if (!parsed.success) return undefined;
  const { error, code, hint, requestId, position, errorPos } = parsed.output;
  // The database writes the position as a text now and then, and under another name when it failed half way.
  const at = Number(position ?? errorPos ?? Number.NaN);
  // This server counts characters, and the database what JavaScript counts; only the former has codes.
  const caret = sql === undefined ? [] : sqlCaret(sql, code === undefined ? at : unitsBefore(sql, at), width);
  const isFault = code === 'internal' && requestId !== undefined;
  return new CliError('refused', error, {
    hint: hintOf(code, hint),
    details: [...caret, ...(isFault ? [`  request id: ${requestId}`] : [])],
  });
}

/** How many UTF-16 units the first characters of a text have. */
function unitsBefore(text: string, characters: number): number {
  let units = 0;
  let seen = 0;
  for (const character of text) {
    if (seen >= characters) return units;
    units += character.length;
    seen += 1;
  }
  return seen >= characters ? units : Number.NaN;
}

/** Where the server's hint speaks of HTTP, `svc` has words of its own. */
function hintOf(code: string | undefined, hint: string | undefined): string | undefined {
  if (code === 'tsdb_not_configured' && hint?.includes('engine=local')) {
    return 'Say --engine local to ask the frames of the server, or give the server a time-series database.';
  }
  if (code === 'handle_not_found') return 'svc list prints the handles there are.';
  // A handle can also be taken by one in other letter case, about which the server's hint is the better one.
  if (code === 'handle_exists' && hint?.includes('If-None-Match')) {
    return 'Choose another handle, or leave --if-new out to replace the frame.';
  }
  return hint;
}
