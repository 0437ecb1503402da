import * as v from 'valibot';
import { CliError } from './cli-error.ts';
import { REFUSAL } from './server-answers.ts';
import { sqlCaret } from './sql-caret.ts';

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
  const caret = sql === undefined ? [] : sqlCaret(sql, Number(position ?? errorPos ?? Number.NaN), width);
  const isFault = code === 'internal' && requestId !== undefined;
  return new CliError('refused', error, {
    hint: hintOf(code, hint),
    details: [...caret, ...(isFault ? [`  request id: ${requestId}`] : [])],
  });
}

/** Where the server's hint speaks of HTTP, `svc` has words of its own. */
function hintOf(code: string | undefined, hint: string | undefined): string | undefined {
  if (code === 'handle_not_found') return 'svc list prints the handles there are.';
  // A handle can also be taken by one in other letter case, about which the server's hint is the better one.
  if (code === 'handle_exists' && hint?.includes('If-None-Match')) {
    return 'Choose another handle, or leave --if-new out to replace the frame.';
  }
  return hint;
}
