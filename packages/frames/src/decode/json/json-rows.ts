import { ServiceError } from '@svc/errors';
import { createJsonFields, type JsonColumn, type JsonFields, type JsonSegment, sealSegments } from './json-column.ts';
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
import { type JsonParser, readObject } from './json-values.ts';

/** Rows of a frame between two cuts: about the size of a batch. */
export interface JsonRowGroup {
  readonly rows: number;
  /** In the order of the columns; columns without a value are undefined, those that appeared later are not there. */
  readonly columns: readonly (JsonSegment | undefined)[];
  /** What it takes. */
  readonly bytes: number;
}

/** Reads JSON rows as their bytes come in. */
export interface JsonRowReader {
  push(chunk: Uint8Array): void;
  /** Says that the text is complete. */
  end(): void;
  /** Goes back to the start: the same text comes once more. The columns stay. */
  restart(): void;
  readonly columns: readonly JsonColumn[];
  readonly groups: JsonRowGroup[];
}

/** What comes next: the start of the text, the first row, what is between two rows, another row, nothing. */
type State = 'start' | 'first' | 'after' | 'row' | 'end';

/** A group is cut after so many rows, or so many bytes of text or of memory: offsets have 32 bits. */
const GROUP_ROWS = 65_536;
const GROUP_BYTES = 1 << 22;
const GROUP_MEMORY_BYTES = 1 << 26;

/** The text of one row may have so many bytes. */
const MAX_ROW_BYTES = 1 << 26;

const HINTS: Readonly<Record<JsonLayout, string>> = {
  array: 'Send an array of objects, for example [{"id":1},{"id":2}]; objects on lines of their own are NDJSON.',
  lines: 'Send one object a line, for example {"id":1}; an array of objects is JSON, not NDJSON.',
};

/** A reader of an array of objects, or of one object a line. */
export function createJsonRowReader(memory: JsonMemory, layout: JsonLayout): JsonRowReader {
  const cursor = createJsonCursor(layout);
  const columns = createJsonFields();
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
  /** Reads the end of a line or a row. */
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
   * Reads as far as there are whole rows. A row that is cut is read again from its start when twice as much of it is
   * there: so the work stays in proportion to the text, however long a row is and however small the chunks are.
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

/** Groups of the rows that were read. */
interface RowGroups {
  readonly groups: JsonRowGroup[];
  /** Rows since the last cut. */
  readonly count: number;
  /** Says that a row was read. */
  add(): void;
  /** Makes a group of the rows since the last cut, if there are any. */
  cut(): void;
  /** Goes back to the start of the text, after a cut. */
  restart(): void;
}

function createRowGroups(cursor: JsonCursor, columns: JsonFields, memory: JsonMemory): RowGroups {
  const groups: JsonRowGroup[] = [];
  let count = 0;
  let start = 0;

  function cut(): void {
    if (count === 0) return;
    const segments = sealSegments(columns.list, memory, count);
    groups.push({ rows: count, columns: segments, bytes: memory.groupBytes });
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
    },
  };
}

/** Skips a byte order mark, and the bracket that an array begins with. */
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

/** The last line may lack its end, and a frame without rows is a text without lines. */
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
  const where = isInside ? `inside of row ${row + 1}` : row > 0 ? `after row ${row}` : 'before the first row';
  return new ServiceError('invalid_data', `The body ends ${where}, at byte ${cursor.before + cursor.end}.`, {
    hint: `Send the whole body; ${layout === 'array' ? 'the array ends with "]"' : 'the last object ends with "}"'}.`,
  });
}
