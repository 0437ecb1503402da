import * as v from 'valibot';
import { CliError } from '../errors/cli-error.ts';
import { cutText, cutTextLeft, textWidth, visibleText } from '../text/display-text.ts';
import { inFlags } from './in-flags.ts';
import { REFUSAL } from './server-responses.ts';

/** The request that was refused. */
export interface RefusalOptions {
  /** The SQL of the request, for a caret under the error. */
  readonly sql?: string | undefined;
  /** Width of the terminal that shows the error, in columns. */
  readonly width: number;
  /** Whether the request reads rows or writes a frame: their flags for formats differ. */
  readonly kind: 'read' | 'write';
}

/** Converts an error body, of this server or of the database behind it; undefined if it is not an error body. */
export function refusalOf(body: unknown, { sql, width, kind }: RefusalOptions): CliError | undefined {
  const parsed = v.safeParse(REFUSAL, body);
  if (!parsed.success) return undefined;
  const { error, code, hint, requestId, position, errorPos } = parsed.output;
  // The database sometimes sends the position as a string, and under another name if it failed half-way.
  const at = Number(position ?? errorPos ?? Number.NaN);
  // This server counts code points, the database UTF-16 units; only this server sends codes.
  const caret = sql === undefined ? [] : sqlCaret(sql, code === undefined ? at : unitsBefore(sql, at), width);
  const isFault = code === 'internal' && requestId !== undefined;
  // Only this server sends codes. Its other sentences may quote SQL, which has names and signs of its own.
  const message = code === 'invalid_argument' ? inFlags(error, kind) : error;
  return new CliError('refused', message, {
    hint: hintOf(code, code === undefined || code === 'invalid_sql' ? hint : hint && inFlags(hint, kind)),
    code,
    details: [...caret, ...(isFault ? [`  request id: ${requestId}`] : [])],
  });
}

/** Converts a number of code points to UTF-16 units. */
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

/** Replaces hints for which a command has a better one. */
function hintOf(code: string | undefined, hint: string | undefined): string | undefined {
  if (code === 'handle_not_found') return 'svc list prints all handles.';
  // If a handle differs only in letter case, the hint of the server is better.
  if (code === 'handle_exists' && hint?.includes('If-None-Match')) {
    return 'Choose another handle, or leave out --if-new to replace the frame.';
  }
  return hint;
}

const INDENT = '  ';

/** Returns the line of the SQL at the position and a caret below it; nothing if the position is outside the SQL. */
export function sqlCaret(sql: string, position: number, width: number): readonly string[] {
  if (!Number.isSafeInteger(position) || position < 0 || position > sql.length || sql.trim() === '') return [];
  const start = sql.lastIndexOf('\n', position - 1) + 1;
  const end = sql.indexOf('\n', position);
  const available = Math.max(width - INDENT.length, 20);
  const before = cutTextLeft(visibleText(sql.slice(start, position)), Math.floor(available / 2));
  const after = cutText(visibleText(sql.slice(position, end < 0 ? undefined : end)), available - textWidth(before));
  return [`${INDENT}${before}${after}`, `${INDENT}${' '.repeat(textWidth(before))}^`];
}
