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
      const length = sequenceLength(bytes, i, end);
      if (length === 0) {
        out[to++] = 0xef;
        out[to++] = 0xbf;
        out[to++] = 0xbd;
        i += brokenLength(bytes, i, end);
      } else {
        for (let k = 0; k < length; k++) out[to++] = bytes[i++];
      }
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

/** The length of the well-formed UTF-8 sequence at `i`, or 0 where there is none. */
function sequenceLength(bytes: Uint8Array, i: number, end: number): number {
  const lead = bytes[i];
  const wanted = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  return wanted !== 0 && brokenLength(bytes, i, end) === wanted && i + wanted <= end ? wanted : 0;
}

/** How many bytes at `i` begin a well-formed sequence, at least 1: what one U+FFFD stands for when it breaks off. */
function brokenLength(bytes: Uint8Array, i: number, end: number): number {
  const lead = bytes[i];
  const wanted = lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 1;
  let length = 1;
  while (length < wanted && i + length < end && isContinuation(bytes[i + length], length === 1 ? lead : 0)) length++;
  return length;
}

/** Whether a byte may follow; the second byte of a sequence has a narrower range behind some leads. */
function isContinuation(byte: number, lead: number): boolean {
  const lowest = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const highest = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  return byte >= lowest && byte <= highest;
}
