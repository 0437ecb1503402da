import { beginText, endText, putDigits, putDouble, putLong, type JsonColumn, TAG } from './json-column.ts';
import { INCOMPLETE, invalidJson, type JsonCursor, unexpected } from './json-cursor.ts';
import { standsForWhole } from './whole-floats.ts';

const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;

/** The number of decimal digits, and the powers of ten, that a double represents exactly. */
const EXACT_DIGITS = 15;
const POWERS = Float64Array.from({ length: 23 }, (_, power) => Number(`1e${power}`));

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
  const value = Number(text);
  // A number other than zero must not become zero.
  const isLost = value === 0 && /^[^eE]*[1-9]/.test(text);
  if (Number.isFinite(value) && !isLost) return value;
  cursor.position = start;
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  throw invalidJson(cursor, `the number ${shown} is beyond the range of a double`, 'Send such a number as a string.');
}

function textFrom({ bytes, position }: JsonCursor, start: number): string {
  return Buffer.from(bytes.buffer, start, position - start).toString('latin1');
}
