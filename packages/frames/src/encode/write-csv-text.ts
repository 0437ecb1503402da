import { sequenceEnd, writeSequence } from './utf8-sequence.ts';

/**
 * Writes UTF-8 bytes as a field of CSV: in quotes where it holds a comma, a quote or a line break, or nothing at all,
 * which would mean null. What is not UTF-8 becomes U+FFFD. It never takes more bytes than the text as a JSON string.
 */
export function writeCsvText(out: Uint8Array, at: number, bytes: Uint8Array, start: number, end: number): number {
  if (start === end) return writeQuoted(out, at, bytes, start, end);
  let to = at;
  let i = start;
  while (i < end) {
    const byte = bytes[i];
    if (byte === 44 || byte === 34 || byte === 10 || byte === 13) return writeQuoted(out, at, bytes, start, end);
    if (byte < 0x80) {
      out[to++] = byte;
      i++;
    } else {
      const next = sequenceEnd(bytes, i, end);
      to = writeSequence(out, to, bytes, i, next);
      i = next;
    }
  }
  return to;
}

function writeQuoted(out: Uint8Array, at: number, bytes: Uint8Array, start: number, end: number): number {
  let to = at;
  out[to++] = 34;
  let i = start;
  while (i < end) {
    const byte = bytes[i];
    if (byte < 0x80) {
      if (byte === 34) out[to++] = 34;
      out[to++] = byte;
      i++;
    } else {
      const next = sequenceEnd(bytes, i, end);
      to = writeSequence(out, to, bytes, i, next);
      i = next;
    }
  }
  out[to] = 34;
  return to + 1;
}
