import { ServiceError } from '@svc/errors';

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
  /** The window. The byte at `end` is a newline, so that loops need not check `end`. */
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

/** Whether a token has exactly these bytes. */
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
