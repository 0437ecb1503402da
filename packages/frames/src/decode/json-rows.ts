import { ServiceError } from '@svc/errors';
import { createJsonFields, type JsonColumn, type JsonSegment, sealSegments } from './json-column.ts';
import {
  createJsonCursor,
  extendWindow,
  INCOMPLETE,
  invalidJson,
  type JsonCursor,
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
  readonly columns: readonly JsonColumn[];
  readonly groups: JsonRowGroup[];
}

/** A group is cut after so many rows, or so many bytes of text: offsets have 32 bits. */
const GROUP_ROWS = 65_536;
const GROUP_BYTES = 1 << 25;

/** The text of one row may have so many bytes. */
const MAX_ROW_BYTES = 1 << 26;

const HINT = 'Send an array of objects, for example [{"id":1},{"id":2}].';

/** A reader of an array of objects. */
export function createJsonRowReader(memory: JsonMemory): JsonRowReader {
  const cursor = createJsonCursor();
  const columns = createJsonFields();
  const groups: JsonRowGroup[] = [];
  const parser: JsonParser = { cursor, memory, objects: 0 };
  let state: 'start' | 'first' | 'after' | 'row' | 'end' = 'start';
  let rows = 0;
  let groupStart = 0;
  let retryAt = 0;

  function cutGroup(): void {
    const segments = sealSegments(columns.list, memory, rows);
    groups.push({ rows, columns: segments, bytes: memory.groupBytes });
    memory.groupBytes = 0;
    groupStart = cursor.before + cursor.position;
    rows = 0;
  }
  function readRow(): void {
    cursor.row++;
    if (cursor.bytes[cursor.position] !== 0x7b) throw notAnObject(cursor);
    readObject(parser, columns, rows, 0);
    cursor.column = undefined;
    rows++;
    if (rows === GROUP_ROWS || cursor.before + cursor.position - groupStart > GROUP_BYTES) cutGroup();
    state = 'after';
  }
  /** Reads a bracket, a comma or a row. */
  function readNext(): void {
    const byte = skipSpace(cursor);
    if (cursor.position >= cursor.end) throw INCOMPLETE;
    if (state === 'end') throw unexpected(cursor, 'nothing after the array');
    if (state === 'start') {
      readStart(cursor);
      state = 'first';
    } else if (byte === 0x5d && state !== 'row') {
      cursor.position++;
      state = 'end';
    } else if (state === 'after') {
      if (byte !== 0x2c) throw unexpected(cursor, '"," or "]" after a row');
      cursor.position++;
      state = 'row';
    } else readRow();
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
        if (retryAt > 2 * MAX_ROW_BYTES) throw tooLong(cursor);
        return;
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
      if (state !== 'end') throw cutError(cursor, state);
      if (rows > 0) cutGroup();
    },
    columns: columns.list,
    groups,
  };
}

function readStart(cursor: JsonCursor): void {
  const { bytes, position, before, end } = cursor;
  if (before + position === 0 && bytes[0] === 0xef) {
    if (end < 3) throw INCOMPLETE;
    if (bytes[1] === 0xbb && bytes[2] === 0xbf) cursor.position = 3;
    skipSpace(cursor);
  }
  if (bytes[cursor.position] === 0x5b) cursor.position++;
  else if (cursor.position >= end) throw INCOMPLETE;
  else throw invalidJson(cursor, `the body is not an array but begins with ${shownByte(cursor)}`, HINT);
}

function notAnObject(cursor: JsonCursor): Error {
  return invalidJson(cursor, `the row is not an object but begins with ${shownByte(cursor)}`, HINT);
}

function shownByte({ bytes, position }: JsonCursor): string {
  return JSON.stringify(String.fromCharCode(bytes[position]));
}

function tooLong(cursor: JsonCursor): ServiceError {
  return invalidJson(cursor, `the text of a row has more than ${MAX_ROW_BYTES} bytes`, 'Send smaller rows.');
}

function cutError(cursor: JsonCursor, state: string): ServiceError {
  if (state === 'start' && cursor.before + cursor.end === 0) {
    return new ServiceError('invalid_data', 'The body is empty.', { hint: HINT });
  }
  skipSpace(cursor);
  const isInside = state !== 'start' && cursor.position < cursor.end;
  const where = isInside
    ? `inside of row ${cursor.row + 1}`
    : cursor.row > 0
      ? `after row ${cursor.row}`
      : 'before the first row';
  return new ServiceError('invalid_data', `The body ends ${where}, at byte ${cursor.before + cursor.end}.`, {
    hint: 'Send the whole body; the array ends with "]".',
  });
}
