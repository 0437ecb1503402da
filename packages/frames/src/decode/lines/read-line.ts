import { quoted } from '@svc/errors/internal';
import type { ByteBudget } from '../../byte-budget.ts';
import { type LineColumn, type LineKind, putDouble, putFlag, putHalves, putText } from './line-column.ts';
import {
  CLASS,
  CLASSES,
  INCOMPLETE,
  type LineCursor,
  LineError,
  readQuoted,
  readToken,
  textOf,
  type Token,
} from './line-cursor.ts';
import {
  type Halves,
  LINE_PRECISIONS,
  MAX_NUMBER_LENGTH,
  NUMBER,
  readDouble,
  readLong,
  readNanoseconds,
  readUlong,
  type UnitScale,
} from './line-numbers.ts';
import { columnOf, endRow, type LineTable, tableOf, typeConflict } from './line-table.ts';

/** What the lines of a request share. */
export interface LineState {
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
export function readLine(state: LineState): void {
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
  endRow(table, hasTime ? state.halves : state.now, line, budget);
}

/** Reads a tag after its comma. Returns what follows. */
function readTag(state: LineState, table: LineTable): number {
  const { cursor, name, value, budget } = state;
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
  const { attempt } = state;
  const { line } = cursor;
  putText(
    columnOf(table, name, 'SYMBOL', attempt, line, budget),
    table.rows,
    value.bytes,
    value.start,
    value.end,
    budget,
  );
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
  const { attempt, budget } = state;
  const { line } = cursor;
  putText(
    columnOf(table, name, 'STRING', attempt, line, budget),
    table.rows,
    value.bytes,
    value.start,
    value.end,
    budget,
  );
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
  const { value, halves, budget, name, attempt } = state;
  const { line } = state.cursor;
  const { bytes, start, end } = value;
  const row = table.rows;
  const last = bytes[end - 1];
  const flag = flagOf(value);
  if (flag !== undefined) {
    putFlag(columnOf(table, name, 'BOOLEAN', attempt, line, budget), row, flag, budget);
  } else if (last === SMALL_I && readLong(halves, bytes, start, end - 1)) {
    putInteger(state, columnOf(table, name, 'LONG', attempt, line, budget), row, 'LONG');
  } else if (last === SMALL_U && readUlong(halves, bytes, start, end - 1)) {
    putInteger(state, columnOf(table, name, 'ULONG', attempt, line, budget), row, 'ULONG');
  } else if (last === SMALL_T && readLong(halves, bytes, start, end - 1)) {
    putHalves(columnOf(table, name, 'TIMESTAMP', attempt, line, budget), row, halves, budget);
  } else if (last === SMALL_N && readNanoseconds(halves, bytes, start, end - 1, LINE_PRECISIONS.ns)) {
    putHalves(columnOf(table, name, 'TIMESTAMP_NS', attempt, line, budget), row, halves, budget);
  } else {
    const number = readDouble(bytes, start, end);
    if (number === undefined) throw invalidValue(line, textOf(name), textOf(value));
    putDouble(columnOf(table, name, 'DOUBLE', attempt, line, budget), row, number, budget);
  }
}

/** Stores a whole number, in a column of doubles if others are doubles and it is exact as one. */
function putInteger(
  { halves, cursor, budget }: LineState,
  column: LineColumn,
  row: number,
  kind: 'LONG' | 'ULONG',
): void {
  if (column.kind !== 'DOUBLE') return putHalves(column, row, halves, budget);
  const exact = BigInt(halves.high) * 2n ** 32n + BigInt(halves.low);
  const double = Number(exact);
  if (BigInt(double) !== exact) throw typeConflict(column, kind, cursor.line);
  return putDouble(column, row, double, budget);
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
