import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { MAX_DEPTH } from '../limits.ts';
import {
  beginList,
  beginText,
  createJsonColumn,
  createRowFields,
  endList,
  endText,
  itemsOf,
  type JsonColumn,
  type JsonFields,
  type JsonMemory,
  type JsonSegment,
  type JsonTarget,
  putTag,
  sealSegments,
  TAG,
} from './json-column.ts';
import {
  beginLine,
  copyString,
  createJsonCursor,
  extendWindow,
  findStringEnd,
  INCOMPLETE,
  invalidJson,
  type JsonCursor,
  type JsonLayout,
  readNumber,
  restartCursor,
  skipSpace,
  unexpected,
} from './json-scalars.ts';

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

/** A group is cut at this number of rows, bytes of text or bytes of memory, so 32-bit offsets suffice. */
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
function createRowGroups(cursor: JsonCursor, columns: JsonFields, memory: JsonMemory) {
  const groups: JsonRowGroup[] = [];
  /** The rows since the last cut. */
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
    get count(): number {
      return count;
    },
    add(): void {
      cursor.column = undefined;
      count++;
      const isLarge = cursor.before + cursor.position - start > GROUP_BYTES || memory.groupBytes > GROUP_MEMORY_BYTES;
      if (count === GROUP_ROWS || isLarge) cut();
    },
    cut,
    /** Returns to the start of the text, after a cut. */
    restart(): void {
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

/** The state of the value parser. */
interface JsonParser {
  readonly cursor: JsonCursor;
  readonly memory: JsonMemory;
  /** The number of objects so far, to identify them. */
  objects: number;
}

/** Reads the object at the cursor into a row. The members of the row itself are at depth 0. */
function readObject(parser: JsonParser, fields: JsonFields, row: number, depth: number): void {
  const { cursor } = parser;
  const object = ++parser.objects;
  cursor.position++;
  let index = 0;
  if (skipSpace(cursor) === 0x7d) {
    cursor.position++;
    return;
  }
  for (;;) {
    if (depth === 0) cursor.column = undefined;
    const column = readKey(parser, fields, index++);
    if (depth === 0) cursor.column = column.name;
    if (column.seenIn === object) throw invalidJson(cursor, `duplicate key ${JSON.stringify(column.name)}`);
    column.seenIn = object;
    if (skipSpace(cursor) !== 0x3a) throw unexpected(cursor, '":" after a key');
    cursor.position++;
    skipSpace(cursor);
    readValue(parser, column, row, depth + 1);
    const byte = skipSpace(cursor);
    if (byte !== 0x2c && byte !== 0x7d) throw unexpected(cursor, '"," or "}" after a value');
    cursor.position++;
    if (byte === 0x7d) return;
    skipSpace(cursor);
  }
}

/**
 * Returns the column of the key at the cursor. Rows mostly have the same keys in the same order, so try the next one
 * first.
 */
function readKey({ cursor, memory }: JsonParser, fields: JsonFields, index: number): JsonColumn {
  const { bytes, position } = cursor;
  if (bytes[position] !== 0x22) throw unexpected(cursor, 'a key in double quotes');
  const guess = index < fields.list.length ? fields.list[index] : undefined;
  if (guess?.key !== undefined) {
    const { key } = guess;
    let matched = 0;
    while (matched < key.length && bytes[position + 1 + matched] === key[matched]) matched++;
    if (matched === key.length && bytes[position + 1 + matched] === 0x22) {
      cursor.position = position + key.length + 2;
      return guess;
    }
  }
  const end = findStringEnd(cursor);
  const name = new Uint8Array(end - position);
  const text = Buffer.from(name.buffer, 0, copyString(cursor, end, name, 0)).toString();
  const known = fields.byName.get(text);
  if (known !== undefined) return known;
  if (fields.isClosed) throw unknownKey(cursor, fields, text);
  const column = createJsonColumn(text, memory);
  fields.list.push(column);
  fields.byName.set(text, column);
  return column;
}

function unknownKey(cursor: JsonCursor, { list }: JsonFields, key: string): Error {
  const names = list.slice(0, 20).map(({ name }) => quoted(name));
  const hint = `Send only these keys: ${names.join(', ')}${list.length > names.length ? ', …' : ''}.`;
  return invalidJson(cursor, `the key ${quoted(key)} is not expected here`, hint);
}

function readValue(parser: JsonParser, column: JsonColumn, row: number, depth: number): void {
  const { cursor } = parser;
  switch (cursor.bytes[cursor.position]) {
    case 0x22: {
      const end = findStringEnd(cursor);
      const start = beginText(column, row, end - cursor.position);
      endText(column, row, copyString(cursor, end, column.open.text, start));
      return;
    }
    case 0x7b:
      checkDepth(cursor, depth);
      if (column.target?.layout === 'map') throw unexpected(cursor, 'an array of [key,value]');
      putTag(column, row, TAG.struct);
      readObject(parser, column.fields, row, depth);
      return;
    case 0x5b:
      checkDepth(cursor, depth);
      if (column.target?.layout === 'map') readMap(parser, column, row, depth);
      else if (column.target?.layout === 'fixed') readFixedList(parser, column, row, depth, column.target.size);
      else readList(parser, column, row, depth);
      return;
    case 0x6e:
      readWord(cursor, 'null');
      putTag(column, row, TAG.null);
      return;
    case 0x74:
      readWord(cursor, 'true');
      putTag(column, row, TAG.true);
      return;
    case 0x66:
      readWord(cursor, 'false');
      putTag(column, row, TAG.false);
      return;
    default: {
      const byte = cursor.bytes[cursor.position];
      if (byte !== 0x2d && !(byte >= 0x30 && byte <= 0x39)) throw unexpected(cursor, 'a value');
      readNumber(cursor, column, row);
    }
  }
}

function readList(parser: JsonParser, column: JsonColumn, row: number, depth: number): void {
  const { cursor } = parser;
  const start = beginList(column, row);
  const items = itemsOf(column);
  cursor.position++;
  let item = start;
  if (skipSpace(cursor) === 0x5d) cursor.position++;
  else {
    for (let byte = 0x2c; byte !== 0x5d; item++) {
      skipSpace(cursor);
      readValue(parser, items, item, depth + 1);
      byte = skipSpace(cursor);
      if (byte !== 0x2c && byte !== 0x5d) throw unexpected(cursor, '"," or "]" after a value');
      cursor.position++;
    }
  }
  endList(column, row, item);
}

/** Reads exactly `size` items, each into the slot that belongs to it. */
function readFixedList(parser: JsonParser, column: JsonColumn, row: number, depth: number, size: number): void {
  const { cursor } = parser;
  beginList(column, row);
  const items = itemsOf(column);
  cursor.position++;
  for (let i = 0; i < size; i++) {
    if (i > 0) {
      if (skipSpace(cursor) === 0x5d) throw wrongLength(cursor, size);
      readMark(cursor, 0x2c, '"," or "]" after a value');
    }
    if (skipSpace(cursor) === 0x5d) throw wrongLength(cursor, size);
    readValue(parser, items, row * size + i, depth + 1);
  }
  if (skipSpace(cursor) === 0x2c) throw wrongLength(cursor, size);
  readMark(cursor, 0x5d, '"]" after a value');
  endList(column, row, (row + 1) * size);
}

function wrongLength(cursor: JsonCursor, size: number): Error {
  return invalidJson(cursor, `the array does not have exactly ${size} values`, `Send ${size} values, or null.`);
}

/** Reads an array of `[key,value]`. */
function readMap(parser: JsonParser, column: JsonColumn, row: number, depth: number): void {
  const { cursor } = parser;
  const [keys, values] = column.fields.list;
  let item = beginList(column, row);
  cursor.position++;
  if (skipSpace(cursor) === 0x5d) cursor.position++;
  else {
    for (let byte = 0x2c; byte !== 0x5d; item++) {
      readMark(cursor, 0x5b, '"[" before a key');
      skipSpace(cursor);
      readValue(parser, keys, item, depth + 1);
      readMark(cursor, 0x2c, '"," after a key');
      skipSpace(cursor);
      readValue(parser, values, item, depth + 1);
      readMark(cursor, 0x5d, '"]" after a value');
      byte = skipSpace(cursor);
      if (byte !== 0x2c && byte !== 0x5d) throw unexpected(cursor, '"," or "]" after an entry');
      cursor.position++;
    }
  }
  endList(column, row, item);
}

function readMark(cursor: JsonCursor, mark: number, what: string): void {
  if (skipSpace(cursor) !== mark) throw unexpected(cursor, what);
  cursor.position++;
}

function readWord(cursor: JsonCursor, word: string): void {
  const { bytes, position } = cursor;
  for (let i = 1; i < word.length; i++) {
    if (bytes[position + i] === word.charCodeAt(i)) continue;
    if (position + i >= cursor.end) throw INCOMPLETE;
    throw unexpected(cursor, 'a value');
  }
  cursor.position += word.length;
}

function checkDepth(cursor: JsonCursor, depth: number): void {
  if (depth > MAX_DEPTH) {
    throw invalidJson(cursor, `values are nested more than ${MAX_DEPTH} deep`, 'Flatten the nested values.');
  }
}
