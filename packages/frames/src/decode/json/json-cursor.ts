import { quoted, ServiceError } from '@svc/errors';
import type { ByteBudget } from '../../byte-budget.ts';
import { allocate } from '../limits.ts';

/** How rows follow each other in a text: in an array, or one on each line. */
export type JsonLayout = 'array' | 'lines';

/** Where a JSON text is being read: a window of its bytes, and the place in it. */
export interface JsonCursor {
  readonly layout: JsonLayout;
  /** The window; the byte at `end` is 0, which no JSON text contains, so that loops need not look at `end`. */
  bytes: Uint8Array<ArrayBuffer>;
  position: number;
  end: number;
  /** How many bytes came before the window. */
  before: number;
  /** The line of the position, from 1, and where in the text it began. */
  line: number;
  lineStart: number;
  /** The row being read, from 1, and its column, for errors. */
  row: number;
  column: string | undefined;
}

/** A cursor over nothing yet. */
export function createJsonCursor(layout: JsonLayout): JsonCursor {
  return {
    layout,
    bytes: new Uint8Array(1 << 17),
    position: 0,
    end: 0,
    before: 0,
    line: 1,
    lineStart: 0,
    row: 0,
    column: undefined,
  };
}

/** Goes back to the start of the text, which comes once more. */
export function restartCursor(cursor: JsonCursor): void {
  // The window stays, and with it what is counted for it.
  Object.assign(cursor, { ...createJsonCursor(cursor.layout), bytes: cursor.bytes });
}

/** Thrown where the window ends before a row does. */
export const INCOMPLETE = new Error('The row goes on beyond the bytes that came so far.');

/** Every decoder has a window of this size; what a long row needs beyond it is counted. */
const WINDOW_BYTES = 1 << 22;

/** Adds bytes to the window, and drops what was read. */
export function extendWindow(cursor: JsonCursor, chunk: Uint8Array, budget: ByteBudget): void {
  const { bytes, position, end } = cursor;
  const kept = end - position;
  if (kept + chunk.length < bytes.length) {
    if (position > 0) bytes.copyWithin(0, position, end);
  } else {
    const length = 2 * (kept + chunk.length);
    budget.take(Math.max(WINDOW_BYTES, length) - Math.max(WINDOW_BYTES, bytes.length));
    cursor.bytes = allocate(length);
    cursor.bytes.set(bytes.subarray(position, end));
  }
  cursor.bytes.set(chunk, kept);
  cursor.before += position;
  cursor.position = 0;
  cursor.end = kept + chunk.length;
  cursor.bytes[cursor.end] = 0;
}

/** Moves to the next byte that is not white space, and returns it. The end of a line is none where it ends a row. */
export function skipSpace(cursor: JsonCursor): number {
  const { bytes } = cursor;
  let at = cursor.position;
  let byte = bytes[at];
  while (byte <= 0x20 && (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09)) {
    if (byte === 0x0a) {
      if (cursor.layout === 'lines') break;
      beginLine(cursor, at + 1);
    }
    byte = bytes[++at];
  }
  cursor.position = at;
  return byte;
}

/** Says that a line begins at a place of the window. */
export function beginLine(cursor: JsonCursor, at: number): void {
  cursor.line++;
  cursor.lineStart = cursor.before + at;
}

/** The error of a text that is not as it should be at the cursor; more bytes are asked for where the window ends. */
export function unexpected(cursor: JsonCursor, wanted: string): Error {
  if (cursor.position >= cursor.end) return INCOMPLETE;
  return invalidJson(cursor, `expected ${wanted}, found ${foundAt(cursor)}`);
}

/** The error of a text that is wrong at the cursor, with the place. */
export function invalidJson(cursor: JsonCursor, what: string, hint?: string): ServiceError {
  const offset = cursor.before + cursor.position;
  const row = cursor.row === 0 ? '' : `Row ${cursor.row}${columnOf(cursor)}: `;
  const place = `at byte ${offset} (line ${cursor.line}, character ${offset - cursor.lineStart + 1})`;
  const message = `${row}${what}, ${place}.`;
  return new ServiceError('invalid_data', `${message.slice(0, 1).toUpperCase()}${message.slice(1)}`, {
    hint: hint ?? VALID_HINTS[cursor.layout],
  });
}

const VALID_HINTS: Readonly<Record<JsonLayout, string>> = {
  array: 'Send valid JSON: an array of objects, for example [{"id":1},{"id":2}].',
  lines: 'Send valid JSON on every line: one whole object, for example {"id":1}.',
};

function columnOf(cursor: JsonCursor): string {
  return cursor.column === undefined ? '' : `, column ${quoted(cursor.column)}`;
}

function foundAt({ layout, bytes, position, end }: JsonCursor): string {
  const byte = bytes[position];
  if (byte === 0x0a && layout === 'lines') return 'the end of the line';
  if (byte < 0x20 || byte === 0x7f || byte >= 0x80) return `the byte 0x${byte.toString(16).padStart(2, '0')}`;
  const word = /^(?:[A-Za-z]{1,20}|.)/s.exec(
    Buffer.from(bytes.subarray(position, Math.min(end, position + 20))).toString('latin1'),
  );
  return quoted(word?.[0] ?? '');
}
