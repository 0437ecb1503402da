import { isUtf8 } from 'node:buffer';
import { quoted } from '@svc/errors/internal';
import type { ByteBudget } from '../../byte-budget.ts';
import { allocate } from '../limits.ts';
import {
  columnOf,
  endRow,
  type LineColumn,
  type LineKind,
  type LineTable,
  putDouble,
  putFlag,
  putHalves,
  putText,
  tableOf,
  typeConflict,
} from './line-table.ts';
import {
  CLASS,
  CLASSES,
  createToken,
  type Halves,
  INCOMPLETE,
  LINE_PRECISIONS,
  type LineCursor,
  LineError,
  type LinePrecision,
  MAX_NUMBER_LENGTH,
  NUMBER,
  readDouble,
  readLong,
  readNanoseconds,
  readQuoted,
  readToken,
  readUlong,
  textOf,
  type Token,
  type UnitScale,
} from './line-tokens.ts';

interface LineDecoderOptions {
  /** The unit of times. Default `ns`. */
  readonly precision?: LinePrecision | undefined;
  /** The time of lines without one, in nanoseconds. */
  readonly nowNs: bigint;
  /** Counts the bytes of the columns before they are allocated. */
  readonly budget: ByteBudget;
  /**
   * How many bytes to collect before lines are read, so a long line that arrives in pieces is not read often. Default
   * 64 KiB.
   */
  readonly stepBytes?: number | undefined;
}

/** The longest line, in bytes. */
const MAX_LINE_BYTES = 1024 ** 2;

const STEP_BYTES = 64 * 1024;

/** Reads line protocol as it arrives. Errors are `LineError`; after one, the decoder cannot be used. */
export function createLineDecoder(options: LineDecoderOptions) {
  const { precision = 'ns', nowNs, budget, stepBytes = STEP_BYTES } = options;
  const cursor: LineCursor = { bytes: allocate(4 * STEP_BYTES), position: 0, end: 0, line: 1, innerNewlines: 0 };
  const state: LineState = {
    cursor,
    tables: new Map(),
    budget,
    unit: LINE_PRECISIONS[precision],
    now: halvesOf(nowNs),
    name: createToken(),
    value: createToken(),
    halves: { low: 0, high: 0 },
    last: undefined,
    attempt: 0,
  };
  let unread = 0;
  let hasLine = false;

  function add(bytes: Uint8Array): void {
    extend(cursor, bytes);
    unread += bytes.length;
    hasLine ||= bytes.includes(NEWLINE);
    if (unread < stepBytes) return;
    // A long line is not read again with each of its chunks.
    if (hasLine) readLines(state);
    else if (cursor.end - cursor.position > MAX_LINE_BYTES) throw tooLong(cursor.line);
    unread = 0;
    hasLine = false;
  }

  return {
    write(chunk: Uint8Array): void {
      for (let at = 0; at < chunk.length; at += stepBytes) add(chunk.subarray(at, at + stepBytes));
    },
    /** Returns the tables that have rows, in the order of their first lines. The last line needs no newline. */
    end(): readonly LineTable[] {
      extend(cursor, Uint8Array.of(NEWLINE));
      readLines(state);
      if (cursor.position < cursor.end) {
        throw new LineError(cursor.line, 'a text in quotes has no end.', 'Write a backslash before a quote in a text.');
      }
      return [...state.tables.values()].filter(({ rows }) => rows > 0);
    },
  };
}

function halvesOf(value: bigint): Halves {
  return { low: Number(BigInt.asUintN(32, value)), high: Number(BigInt.asIntN(32, value >> 32n)) };
}

/** Appends bytes to the window, and drops those already read. */
function extend(cursor: LineCursor, chunk: Uint8Array): void {
  const kept = cursor.end - cursor.position;
  const { bytes } = cursor;
  if (kept + chunk.length < bytes.length) {
    if (cursor.position > 0) bytes.copyWithin(0, cursor.position, cursor.end);
  } else {
    cursor.bytes = allocate(2 * (kept + chunk.length));
    cursor.bytes.set(bytes.subarray(cursor.position, cursor.end));
  }
  cursor.bytes.set(chunk, kept);
  cursor.position = 0;
  cursor.end = kept + chunk.length;
  cursor.bytes[cursor.end] = NEWLINE;
}

/** Reads all lines that are complete. */
function readLines(state: LineState): void {
  const { cursor } = state;
  const firstLine = cursor.line;
  let start = 0;
  try {
    while (cursor.position < cursor.end) {
      start = cursor.position;
      readLine(state);
      if (cursor.position - start > MAX_LINE_BYTES) throw tooLong(cursor.line - 1);
    }
  } catch (error) {
    if (error !== INCOMPLETE) {
      checkText(cursor, start, firstLine);
      throw error;
    }
    cursor.position = start;
    if (cursor.end - start > MAX_LINE_BYTES) throw tooLong(cursor.line);
  }
  checkText(cursor, cursor.position, firstLine);
}

function tooLong(line: number): LineError {
  return new LineError(line, `it is longer than ${MAX_LINE_BYTES} bytes.`, 'Send shorter texts, or fewer columns.');
}

/** Checks that the lines of the window up to `end` are UTF-8. */
function checkText({ bytes }: LineCursor, end: number, firstLine: number): void {
  if (isUtf8(bytes.subarray(0, end))) return;
  let line = firstLine;
  for (let at = 0; at < end; line++) {
    const next = Math.min(bytes.indexOf(NEWLINE, at) + 1, end);
    if (!isUtf8(bytes.subarray(at, next))) {
      throw new LineError(line, 'it is not UTF-8.', 'Encode the lines in UTF-8.');
    }
    at = next;
  }
}

/** What the lines of a request share. */
interface LineState {
  readonly cursor: LineCursor;
  readonly tables: Map<string, LineTable>;
  readonly budget: ByteBudget;
  /** The unit of times. */
  readonly unit: UnitScale;
  /** The time of lines without one. */
  readonly now: Halves;
  readonly name: Token;
  readonly value: Token;
  readonly halves: Halves;
  /** The table of the line before. */
  last: LineTable | undefined;
  /** Counts the attempts to read a line. */
  attempt: number;
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const HASH = 0x23;
const QUOTE = 0x22;
const { comma: COMMA, space: SPACE, equals: EQUALS, newline: END } = CLASS;

/** Reads one line, which may be empty. The position is then after its end. */
function readLine(state: LineState): void {
  const { cursor } = state;
  state.attempt++;
  cursor.innerNewlines = 0;
  skipSpaces(cursor);
  const isComment = cursor.bytes[cursor.position] === HASH;
  if (!isComment && !isLineEnd(cursor)) readRow(state);
  const newline = cursor.bytes.indexOf(NEWLINE, cursor.position);
  if (newline >= cursor.end) throw INCOMPLETE;
  cursor.position = newline + 1;
  cursor.line += 1 + cursor.innerNewlines;
}

function readRow(state: LineState): void {
  const { cursor, name, budget } = state;
  const { line } = cursor;
  let stop = readToken(cursor, name, COMMA | SPACE);
  const table = tableOf(state.tables, name, state.last, line, budget);
  state.last = table;
  table.next = 0;
  let cells = 0;
  for (; stop === COMMA; cells++) stop = readTag(state, table);
  skipSpaces(cursor);
  let hasTime = stop === SPACE && !isLineEnd(cursor);
  if (hasTime) {
    const start = cursor.position;
    stop = readToken(cursor, name, EQUALS | COMMA | SPACE);
    if (stop === EQUALS || cells === 0) {
      hasTime = readFields(state, table, stop) === SPACE && !isLineEnd(cursor);
      cells++;
    } else cursor.position = start; // A row of only tags may have a time.
  }
  if (cells === 0) {
    throw new LineError(
      line,
      'it has neither tags nor fields.',
      'Write a line as table,tag=value field=1.5 1700000000000000000.',
    );
  }
  if (hasTime) readTime(state);
  endRow(table, hasTime ? state.halves : state.now, line);
}

/** Returns the column of the name that was read last. */
function columnFor({ name, attempt, cursor }: LineState, table: LineTable, kind: LineKind): LineColumn {
  return columnOf(table, name, kind, attempt, cursor.line);
}

/** Reads a tag after its comma. Returns what follows. */
function readTag(state: LineState, table: LineTable): number {
  const { cursor, name, value } = state;
  cursor.position++;
  requireEquals(state, readToken(cursor, name, EQUALS | COMMA | SPACE), 'tag');
  cursor.position++;
  const stop = readToken(cursor, value, COMMA | SPACE | EQUALS);
  if (stop === EQUALS) {
    throw new LineError(
      cursor.line,
      `the tag ${quoted(textOf(name))} has "=" in its value.`,
      'Write a backslash before "=" in a tag, and a comma between two tags.',
    );
  }
  putText(columnFor(state, table, 'SYMBOL'), table.rows, value);
  return stop;
}

function requireEquals({ cursor, name }: LineState, stop: number, what: string): void {
  if (stop === EQUALS) return;
  const text = textOf(name);
  throw new LineError(
    cursor.line,
    text === '' ? `there is no ${what} after a comma.` : `the ${what} ${quoted(text)} has no value.`,
    `Write ${what}s as name=value, with a comma and no space between two of them.`,
  );
}

/** Reads the fields; the name of the first is read already, up to `nameStop`. Returns what follows. */
function readFields(state: LineState, table: LineTable, nameStop: number): number {
  const { cursor, name } = state;
  requireEquals(state, nameStop, 'field');
  let stop = readFieldValue(state, table);
  while (stop === COMMA) {
    cursor.position++;
    requireEquals(state, readToken(cursor, name, EQUALS | COMMA | SPACE), 'field');
    stop = readFieldValue(state, table);
  }
  skipSpaces(cursor);
  return stop;
}

/** Reads the value of a field after its name. Returns what follows. */
function readFieldValue(state: LineState, table: LineTable): number {
  const { cursor, name, value } = state;
  cursor.position++;
  if (cursor.bytes[cursor.position] !== QUOTE) {
    const stop = readToken(cursor, value, COMMA | SPACE);
    putValue(state, table);
    return stop;
  }
  readQuoted(cursor, value);
  putText(columnFor(state, table, 'STRING'), table.rows, value);
  const stop = isLineEnd(cursor) ? END : CLASSES[cursor.bytes[cursor.position]];
  if (stop === COMMA || stop === SPACE || stop === END) return stop;
  throw new LineError(
    cursor.line,
    `the field ${quoted(textOf(name))} has text after its last quote.`,
    'Write a backslash before a quote in a text.',
  );
}

const [SMALL_I, SMALL_U, SMALL_T, SMALL_N] = [0x69, 0x75, 0x74, 0x6e];

/** Stores a value that is not in quotes: its last byte tells its type. */
function putValue(state: LineState, table: LineTable): void {
  const { value, halves } = state;
  const { bytes, start, end } = value;
  const row = table.rows;
  const last = bytes[end - 1];
  const flag = flagOf(value);
  if (flag !== undefined) {
    putFlag(columnFor(state, table, 'BOOLEAN'), row, flag);
  } else if (last === SMALL_I && readLong(halves, bytes, start, end - 1)) {
    putInteger(state, columnFor(state, table, 'LONG'), row, 'LONG');
  } else if (last === SMALL_U && readUlong(halves, bytes, start, end - 1)) {
    putInteger(state, columnFor(state, table, 'ULONG'), row, 'ULONG');
  } else if (last === SMALL_T && readLong(halves, bytes, start, end - 1)) {
    putHalves(columnFor(state, table, 'TIMESTAMP'), row, halves);
  } else if (last === SMALL_N && readNanoseconds(halves, bytes, start, end - 1, LINE_PRECISIONS.ns)) {
    putHalves(columnFor(state, table, 'TIMESTAMP_NS'), row, halves);
  } else {
    const number = readDouble(bytes, start, end);
    if (number === undefined) throw invalidValue(state.cursor.line, textOf(state.name), textOf(value));
    putDouble(columnFor(state, table, 'DOUBLE'), row, number);
  }
}

/** Stores a whole number, in a column of doubles if others are doubles and it is exact as one. */
function putInteger({ halves, cursor }: LineState, column: LineColumn, row: number, kind: 'LONG' | 'ULONG'): void {
  if (column.kind !== 'DOUBLE') return putHalves(column, row, halves);
  const exact = BigInt(halves.high) * 2n ** 32n + BigInt(halves.low);
  const double = Number(exact);
  if (BigInt(double) !== exact) throw typeConflict(column, kind, cursor.line);
  return putDouble(column, row, double);
}

const FLAGS: Readonly<Record<string, boolean>> = {
  t: true,
  T: true,
  true: true,
  True: true,
  TRUE: true,
  f: false,
  F: false,
  false: false,
  False: false,
  FALSE: false,
};

function flagOf(token: Token): boolean | undefined {
  const first = token.bytes[token.start] | 0x20;
  // The first letters of true and false.
  if ((first !== SMALL_T && first !== 0x66) || token.end - token.start > 5) return undefined;
  const text = textOf(token);
  return Object.hasOwn(FLAGS, text) ? FLAGS[text] : undefined;
}

function readTime(state: LineState): void {
  const { cursor, value, halves } = state;
  readToken(cursor, value, SPACE);
  const { bytes, start, end } = value;
  const last = bytes[end - 1];
  const suffix = last === SMALL_T ? LINE_PRECISIONS.us : last === SMALL_N ? LINE_PRECISIONS.ns : undefined;
  if (!readNanoseconds(halves, bytes, start, suffix ? end - 1 : end, suffix ?? state.unit)) {
    throw invalidTime(cursor.line, textOf(value));
  }
  skipSpaces(cursor);
  if (isLineEnd(cursor)) return;
  throw new LineError(
    cursor.line,
    'there is text after the time.',
    'Write a backslash before a space in a name or tag.',
  );
}

function skipSpaces(cursor: LineCursor): void {
  while (cursor.bytes[cursor.position] === 0x20) cursor.position++;
}

function isLineEnd({ bytes, position, end }: LineCursor): boolean {
  if (position >= end || (bytes[position] === RETURN && position + 1 >= end)) throw INCOMPLETE;
  return bytes[position] === NEWLINE || (bytes[position] === RETURN && bytes[position + 1] === NEWLINE);
}

interface Range {
  readonly form: RegExp;
  readonly kind: LineKind;
  readonly hint: string;
}

/** The numbers of each form, for a value that has a form and still no type. */
const RANGES: readonly Range[] = [
  {
    form: /^[+-]?\d+i$/,
    kind: 'LONG',
    hint: 'A LONG is between -9223372036854775808 and 9223372036854775807. Send a larger number without i, as a DOUBLE, or as a text in quotes.',
  },
  {
    form: /^-?\d+u$/,
    kind: 'ULONG',
    hint: 'A ULONG is between 0 and 18446744073709551615. Send a negative number with i, as a LONG, and a larger one as a text in quotes.',
  },
  {
    form: /^[+-]?\d+t$/,
    kind: 'TIMESTAMP',
    hint: 'The time is in microseconds, between -9223372036854775808 and 9223372036854775807.',
  },
  {
    form: /^-?\d+n$/,
    kind: 'TIMESTAMP_NS',
    hint: 'The time is in nanoseconds, between the years 1677 and 2262.',
  },
  {
    form: NUMBER,
    kind: 'DOUBLE',
    hint: 'The size of a DOUBLE is 0, or between 5e-324 and 1.7976931348623157e308. Send another number as a text in quotes.',
  },
];

/** The error of a field whose value is not in quotes and has no type. */
function invalidValue(line: number, name: string, value: string): LineError {
  const field = `the field ${quoted(name)}`;
  if (value.startsWith('=')) {
    return new LineError(
      line,
      `${field} is in the binary form of protocol version 2.`,
      'Set protocol_version=1 in the client.',
    );
  }
  const range = value.length > MAX_NUMBER_LENGTH ? undefined : RANGES.find(({ form }) => form.test(value));
  if (range) {
    const { kind, hint } = range;
    return new LineError(line, `${field} has the value ${quoted(value)}, which is out of range for a ${kind}.`, hint);
  }
  return new LineError(
    line,
    value === '' ? `${field} has no value.` : `${field} has the value ${quoted(value)}, which has no type.`,
    'A value is a number (1.5), a whole number (42i, or 42u without a sign), a text in quotes, t or f, or a time in microseconds (1700000000000000t).',
  );
}

/** The error of a time that is not a whole number, or beyond 64 bits. */
function invalidTime(line: number, text: string): LineError {
  return new LineError(
    line,
    /^-?\d+[tn]?$/.test(text) ? `the time ${quoted(text)} is out of range.` : `${quoted(text)} is not a valid time.`,
    'The time is a whole number in the unit of the parameter precision (default ns), between the years 1677 and 2262.',
  );
}
