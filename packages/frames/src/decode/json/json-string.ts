import { INCOMPLETE, invalidJson, type JsonCursor } from './json-cursor.ts';

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
