import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { ByteBudget } from '../../byte-budget.ts';
import { allocate } from '../limits.ts';

/** The layout of the rows: an array, or one per line. */
export type JsonLayout = 'array' | 'lines';

/** A position in a JSON text, with a window of its bytes. */
export interface JsonCursor {
  readonly layout: JsonLayout;
  /** The window. The byte at `end` is 0, which does not occur in JSON, so that loops need not check `end`. */
  bytes: Uint8Array<ArrayBuffer>;
  position: number;
  end: number;
  /** The number of bytes before the window. */
  before: number;
  /** The line of the position, from 1, and the offset of its start. */
  line: number;
  lineStart: number;
  /** The current row, from 1, and its column, for errors. */
  row: number;
  column: string | undefined;
}

/** Creates a cursor with an empty window. */
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

/** Returns to the start of the text, which follows again. */
export function restartCursor(cursor: JsonCursor): void {
  // Keep the window, as its bytes are counted.
  Object.assign(cursor, { ...createJsonCursor(cursor.layout), bytes: cursor.bytes });
}

/** Thrown if the window ends within a row. */
export const INCOMPLETE = new Error('The row continues beyond the bytes received so far.');

/** Every decoder has a window of this size; a larger one, for a long row, is counted. */
const WINDOW_BYTES = 1 << 22;

/** Appends bytes to the window, and drops those already read. */
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

/** Moves to the next byte that is not white space, and returns it. In the layout `lines`, a line end is not skipped. */
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

/** Records the start of a line in the window. */
export function beginLine(cursor: JsonCursor, at: number): void {
  cursor.line++;
  cursor.lineStart = cursor.before + at;
}

/** Returns the error for unexpected text at the cursor; at the end of the window, `INCOMPLETE`. */
export function unexpected(cursor: JsonCursor, wanted: string): Error {
  if (cursor.position >= cursor.end) return INCOMPLETE;
  return invalidJson(cursor, `expected ${wanted}, found ${foundAt(cursor)}`);
}

/** Returns the error for invalid text at the cursor, with its position. */
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
  lines:
    'Send valid JSON on every line: one complete object, for example {"id":1}. Wrap objects of several lines in [ ], with commas between them, and send them as JSON.',
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
