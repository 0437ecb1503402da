import { ServiceError } from '@svc/errors';
import { type JsonColumn, type JsonFields, type JsonSegment, sealSegments } from './json-column.ts';
import {
  beginLine,
  createJsonCursor,
  extendWindow,
  INCOMPLETE,
  invalidJson,
  type JsonCursor,
  type JsonLayout,
  restartCursor,
  skipSpace,
  unexpected,
} from './json-cursor.ts';
import type { JsonMemory } from './json-memory.ts';
import { createRowFields, type JsonTarget } from './json-target.ts';
import { type JsonParser, readObject } from './json-values.ts';

/** The rows between two cuts: about the size of a batch. */
export interface JsonRowGroup {
  readonly rows: number;
  /** The number of rows before the group. */
  readonly firstRow: number;
  /** In the order of the columns; undefined for columns without a value. Columns that appeared later are missing. */
  readonly columns: readonly (JsonSegment | undefined)[];
  /** The bytes taken from the budget. */
  readonly bytes: number;
}

/** An incremental parser of JSON rows. */
export interface JsonRowReader {
  push(chunk: Uint8Array): void;
  /** Marks the end of the text. */
  end(): void;
  /** Returns to the start: the same text follows again. The columns stay. */
  restart(): void;
  readonly columns: readonly JsonColumn[];
  readonly groups: JsonRowGroup[];
}

/** What is expected next: the start of the text, the first row, a separator, another row, or nothing. */
type State = 'start' | 'first' | 'after' | 'row' | 'end';

/** A group is cut at this number of rows, bytes of text or bytes of memory, so that 32-bit offsets suffice. */
const GROUP_ROWS = 65_536;
const GROUP_BYTES = 1 << 22;
const GROUP_MEMORY_BYTES = 1 << 26;

/** The maximum length of a row's text in bytes. */
const MAX_ROW_BYTES = 1 << 26;

const HINTS: Readonly<Record<JsonLayout, string>> = {
  array: 'Send an array of objects, for example [{"id":1},{"id":2}]; one object per line is NDJSON.',
  lines: 'Send one object per line, for example {"id":1}; an array of objects is JSON, not NDJSON.',
};

/** Creates a reader for an array of objects, or for one object per line. */
export function createJsonRowReader(memory: JsonMemory, layout: JsonLayout, target?: JsonTarget): JsonRowReader {
  const cursor = createJsonCursor(layout);
  const columns = createRowFields(memory, target);
  const rows = createRowGroups(cursor, columns, memory);
  const parser: JsonParser = { cursor, memory, objects: 0 };
  let [state, retryAt]: [State, number] = ['start', 0];

  function readRow(): void {
    cursor.row++;
    if (cursor.bytes[cursor.position] !== 0x7b) throw notAnObject(cursor);
    const { position, line, lineStart } = cursor;
    readObject(parser, columns, rows.count, 0);
    if (cursor.position - position > MAX_ROW_BYTES) throw tooLong(Object.assign(cursor, { position, line, lineStart }));
    rows.add();
    state = 'after';
  }
  /** Reads a line end or a row. */
  function readNextLine(byte: number): void {
    if (byte === 0x0a) {
      beginLine(cursor, ++cursor.position);
      if (state === 'after') state = 'row';
    } else if (state === 'after') throw unexpected(cursor, 'the end of the line after a row');
    else readRow();
  }
  /** Reads a bracket, a comma or a row. */
  function readNextItem(byte: number): void {
    if (state === 'end') throw unexpected(cursor, 'nothing after the array');
    if (byte === 0x5d && state !== 'row') {
      cursor.position++;
      state = 'end';
    } else if (state === 'after') {
      if (byte !== 0x2c) throw unexpected(cursor, '"," or "]" after a row');
      cursor.position++;
      state = 'row';
    } else readRow();
  }
  function readNext(): void {
    if (state === 'start') state = readStart(cursor);
    else if (cursor.layout === 'lines') readNextLine(nextByte(cursor));
    else readNextItem(nextByte(cursor));
  }
  /**
   * Reads all complete rows. A truncated row is read again from its start only when twice as many bytes are there. So
   * the work stays linear, however long a row is and however small the chunks are.
   */
  function readAll(): void {
    for (;;) {
      const { position, line, lineStart, row } = cursor;
      try {
        readNext();
      } catch (error) {
        if (error !== INCOMPLETE) throw error;
        Object.assign(cursor, { position, line, lineStart, row, column: undefined });
        retryAt = 2 * (cursor.end - position);
        if (retryAt <= 2 * MAX_ROW_BYTES) return;
        throw tooLong(atNextRow(cursor));
      }
    }
  }
  return {
    push(chunk) {
      extendWindow(cursor, chunk, memory.budget);
      if (cursor.end - cursor.position >= retryAt) readAll();
    },
    end() {
      readAll();
      if (!isComplete(cursor, state)) throw cutError(cursor, state);
      rows.cut();
    },
    restart() {
      rows.restart();
      [state, retryAt] = ['start', 0];
    },
    columns: columns.list,
    groups: rows.groups,
  };
}

/** Groups the rows that were read. */
interface RowGroups {
  readonly groups: JsonRowGroup[];
  /** The rows since the last cut. */
  readonly count: number;
  /** Records that a row was read. */
  add(): void;
  /** Groups the rows since the last cut, if any. */
  cut(): void;
  /** Returns to the start of the text, after a cut. */
  restart(): void;
}

function createRowGroups(cursor: JsonCursor, columns: JsonFields, memory: JsonMemory): RowGroups {
  const groups: JsonRowGroup[] = [];
  let count = 0;
  let firstRow = 0;
  let start = 0;

  function cut(): void {
    if (count === 0) return;
    const segments = sealSegments(columns.list, memory, count);
    groups.push({ rows: count, firstRow, columns: segments, bytes: memory.groupBytes });
    firstRow += count;
    memory.groupBytes = 0;
    start = cursor.before + cursor.position;
    count = 0;
  }
  return {
    groups,
    get count() {
      return count;
    },
    add() {
      cursor.column = undefined;
      count++;
      const isLarge = cursor.before + cursor.position - start > GROUP_BYTES || memory.groupBytes > GROUP_MEMORY_BYTES;
      if (count === GROUP_ROWS || isLarge) cut();
    },
    cut,
    restart() {
      restartCursor(cursor);
      start = 0;
      firstRow = 0;
    },
  };
}

/** Skips a byte order mark, and the opening bracket of an array. */
function readStart(cursor: JsonCursor): State {
  const { bytes, end } = cursor;
  if (cursor.before === 0 && bytes[0] === 0xef) {
    if (end < 3) throw INCOMPLETE;
    if (bytes[1] === 0xbb && bytes[2] === 0xbf) cursor.position = 3;
  }
  if (cursor.layout === 'lines') return 'first';
  if (nextByte(cursor) !== 0x5b) {
    throw invalidJson(cursor, `the body is not an array but begins with ${shownByte(cursor)}`, HINTS.array);
  }
  cursor.position++;
  return 'first';
}

/** Moves to the next byte that is not white space, and returns it. */
function nextByte(cursor: JsonCursor): number {
  const byte = skipSpace(cursor);
  if (cursor.position >= cursor.end) throw INCOMPLETE;
  return byte;
}

/** The last line may lack its line end, and a text without lines is a frame without rows. */
function isComplete(cursor: JsonCursor, state: State): boolean {
  if (cursor.layout === 'array') return state === 'end';
  skipSpace(cursor);
  return cursor.position >= cursor.end;
}

function notAnObject(cursor: JsonCursor): Error {
  return invalidJson(cursor, `the row is not an object but begins with ${shownByte(cursor)}`, HINTS[cursor.layout]);
}

function shownByte({ bytes, position }: JsonCursor): string {
  return JSON.stringify(String.fromCharCode(bytes[position]));
}

function atNextRow(cursor: JsonCursor): JsonCursor {
  skipSpace(cursor);
  cursor.row++;
  return cursor;
}

function tooLong(cursor: JsonCursor): ServiceError {
  cursor.column = undefined;
  return invalidJson(cursor, `the text of a row has more than ${MAX_ROW_BYTES} bytes`, 'Send smaller rows.');
}

function cutError(cursor: JsonCursor, state: State): ServiceError {
  const { layout, row } = cursor;
  if (cursor.before + cursor.end === 0)
    return new ServiceError('invalid_data', 'The body is empty.', { hint: HINTS.array });
  skipSpace(cursor);
  const isInside = state !== 'start' && cursor.position < cursor.end;
  const where = isInside ? `inside row ${row + 1}` : row > 0 ? `after row ${row}` : 'before the first row';
  return new ServiceError('invalid_data', `The body ends ${where}, at byte ${cursor.before + cursor.end}.`, {
    hint: `Send the complete body; ${layout === 'array' ? 'the array ends with "]"' : 'the last object ends with "}"'}.`,
  });
}
