import { ServiceError } from '@svc/errors';
import { EXACT_DIGITS, finiteNumber, POWERS } from '../json/json-scalars.ts';

/** The classes of bytes that have a meaning outside of quotes. */
export const CLASS = { comma: 1, space: 2, equals: 4, newline: 8, backslash: 16, return: 32, quote: 64 } as const;

/** The class of each byte; 0 for most. */
export const CLASSES: Uint8Array = new Uint8Array(256);
for (const [character, byteClass] of [
  [',', CLASS.comma],
  [' ', CLASS.space],
  ['=', CLASS.equals],
  ['\n', CLASS.newline],
  ['\\', CLASS.backslash],
  ['\r', CLASS.return],
  ['"', CLASS.quote],
] as const) {
  CLASSES[character.charCodeAt(0)] = byteClass;
}

/** What a backslash escapes in names and tags, and in quotes; before any other byte it stands for itself. */
const ESCAPED_IN_TOKEN = CLASS.comma | CLASS.space | CLASS.equals | CLASS.newline | CLASS.backslash | CLASS.return;
const ESCAPED_IN_QUOTES = CLASS.quote | CLASS.newline | CLASS.backslash | CLASS.return;

/** A name or a value: its bytes, without escapes. */
export interface Token {
  bytes: Uint8Array;
  start: number;
  end: number;
  /** Holds the bytes of a token that has escapes. */
  scratch: Uint8Array;
}

/** Creates a token without bytes. */
export function createToken(): Token {
  return { bytes: new Uint8Array(0), start: 0, end: 0, scratch: new Uint8Array(256) };
}

/** A position in line protocol, with a window of its bytes. */
export interface LineCursor {
  /** The window. The byte at `end` is a newline, so loops need not check `end`. */
  bytes: Uint8Array;
  position: number;
  end: number;
  /** The number of the line at the position, from 1. */
  line: number;
  /** The newlines within names and values of the line. */
  innerNewlines: number;
}

/**
 * Reads a token up to the first byte of the classes `stops` (or the end of the line), and returns the class of that byte.
 * The position is then at it.
 */
export function readToken(cursor: LineCursor, token: Token, stops: number): number {
  const { bytes, position: start, end } = cursor;
  const watched = stops | CLASS.newline | CLASS.backslash | CLASS.return;
  let at = start;
  let isEscaped = false;
  let found = 0;
  for (;;) {
    while ((CLASSES[bytes[at]] & watched) === 0) at++;
    if (at >= end) throw INCOMPLETE;
    found = CLASSES[bytes[at]];
    if (found === CLASS.backslash) {
      if (at + 1 >= end) throw INCOMPLETE;
      const next = CLASSES[bytes[at + 1]];
      const isEscape = (next & ESCAPED_IN_TOKEN) !== 0;
      if (next === CLASS.newline) cursor.innerNewlines++;
      isEscaped ||= isEscape;
      at += isEscape ? 2 : 1;
    } else if (found === CLASS.return) {
      if (at + 1 >= end) throw INCOMPLETE;
      if (bytes[at + 1] === 0x0a) {
        found = CLASS.newline;
        break;
      }
      at++;
    } else break;
  }
  setToken(token, bytes, start, at, isEscaped ? ESCAPED_IN_TOKEN : 0);
  cursor.position = at;
  return found;
}

/** Reads a text in quotes; the position is at the first quote, and then after the last one. */
export function readQuoted(cursor: LineCursor, token: Token): void {
  const { bytes, position, end } = cursor;
  const start = position + 1;
  const watched = CLASS.quote | CLASS.backslash | CLASS.newline;
  let at = start;
  let isEscaped = false;
  for (;;) {
    while ((CLASSES[bytes[at]] & watched) === 0) at++;
    const found = CLASSES[bytes[at]];
    if (at >= end || (found === CLASS.backslash && at + 1 >= end)) throw INCOMPLETE;
    if (found === CLASS.quote) break;
    if (found === CLASS.newline) {
      cursor.innerNewlines++;
      at++;
      continue;
    }
    const isEscape = (CLASSES[bytes[at + 1]] & ESCAPED_IN_QUOTES) !== 0;
    if (bytes[at + 1] === 0x0a) cursor.innerNewlines++;
    isEscaped ||= isEscape;
    at += isEscape ? 2 : 1;
  }
  setToken(token, bytes, start, at, isEscaped ? ESCAPED_IN_QUOTES : 0);
  cursor.position = at + 1;
}

function setToken(token: Token, bytes: Uint8Array, start: number, end: number, escaped: number): void {
  token.bytes = bytes;
  token.start = start;
  token.end = end;
  if (escaped !== 0) unescape(token, escaped);
}

function unescape(token: Token, escaped: number): void {
  const { bytes, start, end } = token;
  if (token.scratch.length < end - start) token.scratch = new Uint8Array(2 * (end - start));
  const { scratch } = token;
  let length = 0;
  for (let at = start; at < end; at++) {
    const isEscape = bytes[at] === 0x5c && at + 1 < end && (CLASSES[bytes[at + 1]] & escaped) !== 0;
    if (isEscape) at++;
    scratch[length++] = bytes[at];
  }
  token.bytes = scratch;
  token.start = 0;
  token.end = length;
}

/** The text of a token, for names and messages. */
export function textOf({ bytes, start, end }: Token): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString();
}

/** True if a token has exactly these bytes. */
export function isToken({ bytes, start, end }: Token, expected: Uint8Array): boolean {
  if (end - start !== expected.length) return false;
  for (let i = expected.length - 1; i >= 0; i--) if (bytes[start + i] !== expected[i]) return false;
  return true;
}

/** A fault in line protocol. It names the line, from 1. */
export class LineError extends ServiceError {
  readonly line: number;

  constructor(line: number, reason: string, hint: string) {
    super('invalid_data', `Line ${line}: ${reason}`, { hint });
    this.line = line;
  }
}

/** Thrown if the bytes end within a line. */
export const INCOMPLETE: Error = new Error('The line continues beyond the bytes received so far.');

const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;

/** A 64-bit integer as two halves: BigInts are slow to create. */
export interface Halves {
  /** The low 32 bits, unsigned. */
  low: number;
  /** The high 32 bits. While the value is a magnitude it may be larger than they can hold. */
  high: number;
}

/**
 * Reads the digits of an integer into `halves`, without its sign. Returns false if they are not digits, or more than 20
 * after the leading zeros.
 */
function readMagnitude(halves: Halves, bytes: Uint8Array, from: number, end: number): boolean {
  let start = from;
  while (end - start > 20 && bytes[start] === ZERO) start++;
  const count = end - start;
  if (count < 1 || count > 20) return false;
  let value = 0;
  const direct = count <= EXACT_DIGITS ? end : end - 9;
  for (let at = start; at < direct; at++) {
    const digit = bytes[at] - ZERO;
    if (digit < 0 || digit > 9) return false;
    value = value * 10 + digit;
  }
  halves.high = Math.floor(value / 2 ** 32);
  halves.low = value - halves.high * 2 ** 32;
  if (direct === end) return true;
  let part = 0;
  for (let at = direct; at < end; at++) {
    const digit = bytes[at] - ZERO;
    if (digit < 0 || digit > 9) return false;
    part = part * 10 + digit;
  }
  multiply(halves, 1000);
  multiply(halves, 1000);
  multiply(halves, 1000);
  const low = halves.low + part;
  halves.high += Math.floor(low / 2 ** 32);
  halves.low = low % 2 ** 32;
  return true;
}

/** Multiplies a magnitude by a number below 2^16. Both halves stay exact as long as the product has fewer than 80 bits. */
function multiply(halves: Halves, factor: number): void {
  const low = halves.low * factor;
  const carry = Math.floor(low / 2 ** 32);
  halves.low = low - carry * 2 ** 32;
  halves.high = halves.high * factor + carry;
}

function negate(halves: Halves): void {
  halves.high = halves.low === 0 ? -halves.high : -halves.high - 1;
  halves.low = halves.low === 0 ? 0 : 2 ** 32 - halves.low;
}

/** Reads a signed 64-bit integer. Returns false if the bytes are not one. */
export function readLong(halves: Halves, bytes: Uint8Array, start: number, end: number): boolean {
  const isNegative = bytes[start] === MINUS;
  const first = isNegative || bytes[start] === PLUS ? start + 1 : start;
  if (!readMagnitude(halves, bytes, first, end)) return false;
  if (halves.high >= 2 ** 31 && !(isNegative && halves.high === 2 ** 31 && halves.low === 0)) return false;
  if (isNegative) negate(halves);
  return true;
}

/** Reads an unsigned 64-bit integer. Returns false if the bytes are not one. */
export function readUlong(halves: Halves, bytes: Uint8Array, start: number, end: number): boolean {
  return readMagnitude(halves, bytes, start, end) && halves.high < 2 ** 32;
}

/**
 * Reads a time in some unit, as nanoseconds. Returns false if the bytes are not an integer, or the time is not between the
 * years 1677 and 2262, which 64 bits can hold. The extreme values stand for infinity elsewhere.
 */
export function readNanoseconds(
  halves: Halves,
  bytes: Uint8Array,
  start: number,
  end: number,
  { factor, thousands }: UnitScale,
): boolean {
  const isNegative = bytes[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  if (!readMagnitude(halves, bytes, first, end)) return false;
  if (factor !== 1) multiply(halves, factor);
  for (let i = 0; i < thousands; i++) {
    if (halves.high >= 2 ** 31) return false;
    multiply(halves, 1000);
  }
  if (halves.high >= 2 ** 31 || (halves.high === 2 ** 31 - 1 && halves.low === 2 ** 32 - 1)) return false;
  if (isNegative) negate(halves);
  return true;
}

/** A longer text is not read as a number. */
export const MAX_NUMBER_LENGTH = 1024;

/** Reads a double: the nearest one to the digits. Undefined if the bytes are not a number, or beyond the range. */
export function readDouble(bytes: Uint8Array, start: number, end: number): number | undefined {
  if (end - start > MAX_NUMBER_LENGTH) return undefined;
  const isNegative = bytes[start] === MINUS;
  const first = isNegative || bytes[start] === PLUS ? start + 1 : start;
  let digits = 0;
  let count = 0;
  let decimals = 0;
  let at = first;
  for (; at < end; at++) {
    const digit = bytes[at] - ZERO;
    if (digit >= 0 && digit <= 9) {
      digits = digits * 10 + digit;
      count++;
      if (decimals > 0) decimals++;
    } else if (bytes[at] === DOT && decimals === 0) decimals = 1;
    else break;
  }
  if (at < end || count === 0 || count > EXACT_DIGITS || decimals > POWERS.length) {
    return slowDouble(bytes, start, end);
  }
  // Few digits and a small power of ten are both exact, so their quotient is correctly rounded.
  const value = decimals > 1 ? digits / POWERS[decimals - 1] : digits;
  return isNegative ? -value : value;
}

/** The form of a double. */
export const NUMBER: RegExp = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const WORDS: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity,
  '+Infinity': Infinity,
  '-Infinity': -Infinity,
};

function slowDouble(bytes: Uint8Array, start: number, end: number): number | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
  if (Object.hasOwn(WORDS, text)) return WORDS[text];
  return NUMBER.test(text) ? finiteNumber(text) : undefined;
}

/** The units of timestamps in line protocol, with the seconds or the power of 1000 that a unit is in nanoseconds. */
export const LINE_PRECISIONS = {
  ns: { factor: 1, thousands: 0 },
  n: { factor: 1, thousands: 0 },
  us: { factor: 1, thousands: 1 },
  u: { factor: 1, thousands: 1 },
  ms: { factor: 1, thousands: 2 },
  s: { factor: 1, thousands: 3 },
  m: { factor: 60, thousands: 3 },
  h: { factor: 3600, thousands: 3 },
} as const satisfies Record<string, UnitScale>;

/** The nanoseconds of a unit: `factor` × 1000 to the power of `thousands`. */
export interface UnitScale {
  readonly factor: number;
  readonly thousands: number;
}

/** The unit of the timestamps of a request. `n` is `ns`, `u` is `us`, `m` is a minute. */
export type LinePrecision = keyof typeof LINE_PRECISIONS;

/** True if a text is the name of a unit. */
export function isLinePrecision(text: string): text is LinePrecision {
  return Object.hasOwn(LINE_PRECISIONS, text);
}
