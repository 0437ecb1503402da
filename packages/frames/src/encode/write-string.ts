import { sequenceEnd, writeSequence } from './utf8-sequence.ts';

const HEX = new TextEncoder().encode('0123456789abcdef');
/** The letter behind the backslash of the control characters that have one. */
const SHORT_ESCAPES = new Uint8Array(32);
SHORT_ESCAPES[8] = 98;
SHORT_ESCAPES[9] = 116;
SHORT_ESCAPES[10] = 110;
SHORT_ESCAPES[12] = 102;
SHORT_ESCAPES[13] = 114;

/** Below this length a cell's bound is guessed from its length; above it the text is read once to know. */
const GUESSED_BYTES = 1024;

/** Writes UTF-8 bytes as a JSON string. What is not UTF-8 becomes U+FFFD, so that the JSON is always valid. */
export function writeString(out: Uint8Array, at: number, bytes: Uint8Array, start: number, end: number): number {
  let to = at;
  out[to++] = 34;
  let i = start;
  while (i < end) {
    const byte = bytes[i];
    if (byte >= 0x80) {
      const next = sequenceEnd(bytes, i, end);
      to = writeSequence(out, to, bytes, i, next);
      i = next;
    } else if (byte < 32 || byte === 34 || byte === 92) {
      to = writeEscape(out, to, byte);
      i++;
    } else {
      out[to++] = byte;
      i++;
    }
  }
  out[to++] = 34;
  return to;
}

/** The most bytes a text of so many bytes takes: an escape each, and the quotes. */
export function maxStringBytes(length: number): number {
  return 6 * length + 2;
}

/** A bound for the bytes that `writeString` writes. */
export function stringBytes(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length <= GUESSED_BYTES) return maxStringBytes(length);
  let bound = length + 2;
  for (let i = start; i < end; i++) {
    const byte = bytes[i];
    if (byte < 32) bound += 5;
    else if (byte === 34 || byte === 92) bound += 1;
    else if (byte >= 0x80) bound += 2;
  }
  return bound;
}

function writeEscape(out: Uint8Array, at: number, byte: number): number {
  out[at] = 92;
  const letter = byte < 32 ? SHORT_ESCAPES[byte] : byte;
  if (letter !== 0) {
    out[at + 1] = letter;
    return at + 2;
  }
  out[at + 1] = 117;
  out[at + 2] = 48;
  out[at + 3] = 48;
  out[at + 4] = HEX[byte >> 4];
  out[at + 5] = HEX[byte & 15];
  return at + 6;
}
