import { quoted } from '@svc/errors/internal';
import {
  beginList,
  beginText,
  createJsonColumn,
  endList,
  endText,
  itemsOf,
  type JsonColumn,
  type JsonFields,
  putTag,
  TAG,
} from './json-column.ts';
import { INCOMPLETE, invalidJson, type JsonCursor, skipSpace, unexpected } from './json-cursor.ts';
import type { JsonMemory } from './json-memory.ts';
import { readNumber } from './json-number.ts';
import { copyString, findStringEnd } from './json-string.ts';
import { MAX_DEPTH } from '../limits.ts';

/** The state of the value parser. */
export interface JsonParser {
  readonly cursor: JsonCursor;
  readonly memory: JsonMemory;
  /** The number of objects so far, to identify them. */
  objects: number;
}

/** Reads the object at the cursor into a row. The members of the row itself are at depth 0. */
export function readObject(parser: JsonParser, fields: JsonFields, row: number, depth: number): void {
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
