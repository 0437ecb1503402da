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

/** Where the server's hint speaks of HTTP and `svc` has words of its own. */
const HINTS: ReadonlyMap<string | undefined, string> = new Map([
  ['handle_not_found', 'svc list prints the handles there are.'],
  ['handle_exists', 'Choose another handle, or leave --if-new out to replace the frame.'],
]);

/** The members of an error body, of this server or of the database behind it; undefined where it is none. */
export function refusalOf(body: unknown, { sql, width }: RefusalOptions): CliError | undefined {
  const parsed = v.safeParse(REFUSAL, body);
  if (!parsed.success) return undefined;
  const { error, code, hint, requestId, position, errorPos } = parsed.output;
  // The database writes the position as a text now and then, and under another name when it failed half way.
  const caret = sql === undefined ? [] : sqlCaret(sql, Number(position ?? errorPos ?? Number.NaN), width);
  const isFault = code === 'internal' && requestId !== undefined;
  return new CliError('refused', error, {
    hint: HINTS.get(code) ?? hint,
    details: [...caret, ...(isFault ? [`  request id: ${requestId}`] : [])],
  });
}
