import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { ByteBudget } from '../../byte-budget.ts';
import { allocate } from '../limits.ts';
import { beginText, endText, type JsonColumn, putDigits, putDouble, putLong, TAG } from './json-column.ts';

/** The layout of the rows: an array, or one per line. */
export type JsonLayout = 'array' | 'lines';

/** A position in a JSON text, with a window of its bytes. */
export interface JsonCursor {
  readonly layout: JsonLayout;
  /** The window. The byte at `end` is 0, which does not occur in JSON, so loops need not check `end`. */
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

const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;

/** The number of decimal digits, and the powers of ten, that a double represents exactly. */
export const EXACT_DIGITS = 15;
export const POWERS = Float64Array.from({ length: 23 }, (_, power) => Number(`1e${power}`));

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);
const UINT64_MAX = 2n ** 64n - 1n;

/** Reads the number at the cursor into a row. Integers (no dot, no exponent) stay exact, whatever their size. */
export function readNumber(cursor: JsonCursor, column: JsonColumn, row: number): void {
  const { bytes } = cursor;
  const start = cursor.position;
  const isNegative = bytes[start] === MINUS;
  let at = isNegative ? start + 1 : start;
  const firstDigit = at;
  let value = 0;
  for (let digit = bytes[at] - ZERO; digit >= 0 && digit <= 9; digit = bytes[++at] - ZERO) value = value * 10 + digit;
  if (at === firstDigit || (bytes[firstDigit] === ZERO && at > firstDigit + 1)) {
    cursor.position = at === firstDigit ? at : firstDigit + 1;
    throw unexpected(cursor, at === firstDigit ? 'a digit' : 'no digit after a leading zero');
  }
  const next = bytes[at];
  if (next === DOT || next === 0x65 || next === 0x45) {
    readFraction(cursor, column, row, at);
    return;
  }
  if (at >= cursor.end) throw INCOMPLETE;
  cursor.position = at;
  if (at - firstDigit > EXACT_DIGITS) putLargeInteger(cursor, column, row, start);
  // An integer has no sign of zero.
  else if (isNegative && value === 0) {
    putDouble(column, row, -0);
    putNumberText(cursor, column, row, start, TAG.double);
  } else {
    const signed = isNegative ? -value : value;
    const high = Math.floor(signed / 2 ** 32);
    putLong(column, row, signed < 0 ? TAG.negative : TAG.long, signed - high * 2 ** 32, high);
  }
}

/** An integer of this length is within the range of a double. */
const FINITE_CHARACTERS = 300;

function putLargeInteger(cursor: JsonCursor, column: JsonColumn, row: number, start: number): void {
  const text = textFrom(cursor, start);
  if (text.length > FINITE_CHARACTERS) checkRange(cursor, start, text);
  const value = BigInt(text);
  if (column.target === undefined) column.hasInexact ||= !standsForWhole(Number(text), value, false);
  if (value < INT64_MIN || value > UINT64_MAX) {
    putDigits(column, row, text);
    return;
  }
  const tag = value < 0n ? TAG.negative : value > INT64_MAX ? TAG.ulong : TAG.long;
  putLong(column, row, tag, Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n)));
}

/** Reads a number with a fraction or an exponent; its integer part ends at `at`. */
function readFraction(cursor: JsonCursor, column: JsonColumn, row: number, at: number): void {
  const { bytes } = cursor;
  const start = cursor.position;
  let end = at;
  if (bytes[end] === DOT) {
    end = digitsEnd(cursor, end + 1);
  }
  const fractionEnd = end;
  let exponent = 0;
  if (bytes[end] === 0x65 || bytes[end] === 0x45) {
    const sign = bytes[end + 1];
    const digits = sign === 0x2b || sign === MINUS ? end + 2 : end + 1;
    end = digitsEnd(cursor, digits);
    for (let i = digits; i < end && exponent < 10_000; i++) exponent = exponent * 10 + bytes[i] - ZERO;
    if (sign === MINUS) exponent = -exponent;
  }
  if (end >= cursor.end) throw INCOMPLETE;
  cursor.position = end;
  if (column.target?.keepsDigits === true) {
    putNumberText(cursor, column, row, start, TAG.number);
    return;
  }
  const exact = exactDouble(bytes, start, at, fractionEnd, exponent);
  putDouble(column, row, exact ?? slowDouble(cursor, start));
  const isShortest =
    exact !== undefined && end === fractionEnd && bytes[end - 1] !== ZERO && Math.abs(exact) >= LEAST_WITHOUT_EXPONENT;
  // The column may turn out to be one of texts.
  if (!isShortest && column.target === undefined) putNumberText(cursor, column, row, start, TAG.double);
}

/** JavaScript writes smaller numbers with an exponent. */
const LEAST_WITHOUT_EXPONENT = 1e-6;

/** Keeps a number as it is written. */
function putNumberText(
  { bytes, position }: JsonCursor,
  column: JsonColumn,
  row: number,
  from: number,
  tag: number,
): void {
  const start = beginText(column, row, position - from);
  const { text } = column.open;
  for (let at = from; at < position; at++) text[start + at - from] = bytes[at];
  endText(column, row, start + position - from, tag);
}

function digitsEnd(cursor: JsonCursor, start: number): number {
  const { bytes } = cursor;
  let at = start;
  while (bytes[at] >= ZERO && bytes[at] <= 0x39) at++;
  if (at === start) {
    cursor.position = at;
    throw unexpected(cursor, 'a digit');
  }
  return at;
}

/**
 * With few digits and a small power of ten, both are exact doubles, so their quotient or product is correctly rounded.
 */
function exactDouble(bytes: Uint8Array, start: number, dot: number, end: number, exponent: number): number | undefined {
  const isNegative = bytes[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  if (end - first - (end > dot ? 1 : 0) > EXACT_DIGITS) return undefined;
  let digits = 0;
  for (let i = first; i < end; i++) {
    if (bytes[i] !== DOT) digits = digits * 10 + bytes[i] - ZERO;
  }
  const power = exponent - Math.max(0, end - dot - 1);
  if (power < -22 || power > 22) return undefined;
  const value = power < 0 ? digits / POWERS[-power] : digits * POWERS[power];
  return isNegative ? -value : value;
}

function slowDouble(cursor: JsonCursor, start: number): number {
  return checkRange(cursor, start, textFrom(cursor, start));
}

function checkRange(cursor: JsonCursor, start: number, text: string): number {
  const value = finiteNumber(text);
  if (value !== undefined) return value;
  cursor.position = start;
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  throw invalidJson(cursor, `the number ${shown} is beyond the range of a double`, 'Send such a number as a string.');
}

/** Returns the nearest double; undefined if it is beyond the range. A number other than zero must not become zero. */
export function finiteNumber(text: string): number | undefined {
  const value = Number(text);
  const isLost = value === 0 && /^[^eE]*[1-9]/.test(text);
  return Number.isFinite(value) && !isLost ? value : undefined;
}

function textFrom({ bytes, position }: JsonCursor, start: number): string {
  return Buffer.from(bytes.buffer, start, position - start).toString('latin1');
}

/**
 * True if a float stands for a whole number: it is exactly that number, or the number is the shortest text that reads
 * back as the float, which is how floats are written. `value` is a float32 if `isSingle`.
 */
export function standsForWhole(value: number, whole: bigint, isSingle: boolean): boolean {
  if (!Number.isFinite(value)) return false;
  return BigInt(value) === whole || wholeOf(isSingle ? shortestSingle(value) : String(value)) === whole;
}

/** The number of significant digits that identify any float32. */
const SINGLE_DIGITS = 9;

function shortestSingle(value: number): string {
  for (let digits = 1; digits < SINGLE_DIGITS; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return text;
  }
  return value.toPrecision(SINGLE_DIGITS);
}

/** Parses a whole number such as `123` or `1.23e+9`. */
function wholeOf(text: string): bigint {
  const [digits, exponent = '0'] = text.split('e');
  const [whole, fraction = ''] = digits.split('.');
  return BigInt(`${whole}${fraction}`) * 10n ** BigInt(Number(exponent) - fraction.length);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

/** The meaning of a backslash and one letter; 0 if there is none. */
const ESCAPES = new Uint8Array(256);
for (const [letter, meaning] of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t']) {
  ESCAPES[letter.charCodeAt(0)] = meaning.charCodeAt(0);
}

/** Returns the position of the closing quote of the string at the cursor. */
export function findStringEnd(cursor: JsonCursor): number {
  const { bytes } = cursor;
  for (let at = cursor.position + 1; ; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at++;
    else if (byte < 0x20) {
      if (at >= cursor.end) throw INCOMPLETE;
      cursor.position = at;
      throw invalidJson(
        cursor,
        `a string contains the control character 0x${byte.toString(16).padStart(2, '0')}`,
        'Write control characters in strings as escapes, for example \\n or \\u0000.',
      );
    }
    if (at >= cursor.end) throw INCOMPLETE;
  }
}

/**
 * Copies the string at the cursor, which ends before `end`, to `target` as UTF-8, and moves the cursor past it. Returns
 * the end of the copy, which is never longer than the source.
 */
export function copyString(cursor: JsonCursor, end: number, target: Uint8Array, start: number): number {
  const { bytes } = cursor;
  let written = start;
  let at = cursor.position + 1;
  while (at < end) {
    const byte = bytes[at];
    if (byte === BACKSLASH) {
      cursor.position = at;
      written = copyEscape(cursor, end, target, written);
      at = cursor.position;
    } else if (byte < 0x80) {
      target[written++] = byte;
      at++;
    } else {
      const length = utf8Length(bytes, at, end);
      if (length === 0) {
        cursor.position = at;
        throw invalidJson(cursor, 'a string is not valid UTF-8', 'Send the text as UTF-8.');
      }
      for (const stop = at + length; at < stop; at++) target[written++] = bytes[at];
    }
  }
  cursor.position = end + 1;
  return written;
}

/** Copies the character of the escape at the cursor, and moves the cursor past it. */
function copyEscape(cursor: JsonCursor, end: number, target: Uint8Array, written: number): number {
  const { bytes, position } = cursor;
  const letter = bytes[position + 1];
  if (letter !== LETTER_U) {
    if (ESCAPES[letter] === 0) throw invalidJson(cursor, 'a string contains an unknown escape');
    target[written] = ESCAPES[letter];
    cursor.position += 2;
    return written + 1;
  }
  let code = readHex(cursor, position + 2, end);
  cursor.position += 6;
  if (code >= 0xd800 && code <= 0xdbff && bytes[position + 6] === BACKSLASH && bytes[position + 7] === LETTER_U) {
    const low = readHex(cursor, position + 8, end);
    if (low >= 0xdc00 && low <= 0xdfff) {
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      cursor.position += 6;
    }
  }
  if (code >= 0xd800 && code <= 0xdfff) throw loneSurrogate(cursor, position, code);
  return writeUtf8(code, target, written);
}

function loneSurrogate(cursor: JsonCursor, position: number, code: number): Error {
  cursor.position = position;
  return invalidJson(
    cursor,
    `a string contains \\u${code.toString(16)} without the other half of its character`,
    'Send both halves of a character beyond U+FFFF, for example \\ud83d\\ude00, or the character itself.',
  );
}

function readHex(cursor: JsonCursor, start: number, end: number): number {
  let code = 0;
  for (let at = start; at < start + 4; at++) {
    const digit = at < end ? hexDigit(cursor.bytes[at]) : -1;
    if (digit < 0) throw invalidJson(cursor, 'a string contains a \\u that is not followed by four hexadecimal digits');
    code = code * 16 + digit;
  }
  return code;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function writeUtf8(code: number, target: Uint8Array, start: number): number {
  let at = start;
  if (code < 0x80) target[at++] = code;
  else if (code < 0x800) {
    target[at++] = 0xc0 | (code >> 6);
    target[at++] = 0x80 | (code & 0x3f);
  } else {
    if (code < 0x10000) target[at++] = 0xe0 | (code >> 12);
    else {
      target[at++] = 0xf0 | (code >> 18);
      target[at++] = 0x80 | ((code >> 12) & 0x3f);
    }
    target[at++] = 0x80 | ((code >> 6) & 0x3f);
    target[at++] = 0x80 | (code & 0x3f);
  }
  return at;
}

/**
 * Returns the length of the character at `at` in bytes; 0 if it is not valid UTF-8 (including overlong forms and
 * surrogates).
 */
function utf8Length(bytes: Uint8Array, at: number, end: number): number {
  const first = bytes[at];
  const second = bytes[at + 1];
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (at + length > end) return 0;
  for (let i = 1; i < length; i++) if ((bytes[at + i] & 0xc0) !== 0x80) return 0;
  if ((first === 0xe0 && second < 0xa0) || (first === 0xed && second > 0x9f)) return 0;
  if ((first === 0xf0 && second < 0x90) || (first === 0xf4 && second > 0x8f)) return 0;
  return length;
}
