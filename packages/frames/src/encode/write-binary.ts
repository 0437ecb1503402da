const ENCODER = new TextEncoder();
const BASE64_DIGITS = ENCODER.encode('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
const HEX_DIGITS = ENCODER.encode('0123456789abcdef');

/** The bytes of a UUID's text. */
export const UUID_BYTES = 36;

/** How many bytes `writeBase64` writes for so many. */
export function base64Bytes(length: number): number {
  return 4 * Math.ceil(length / 3);
}

/** Writes bytes as base64, with padding. */
export function writeBase64(out: Uint8Array, at: number, bytes: Uint8Array, start: number, end: number): number {
  let to = at;
  let i = start;
  for (; i + 2 < end; i += 3) {
    const three = (bytes[i] << 16) | (bytes[i + 1] << 8) | bytes[i + 2];
    out[to] = BASE64_DIGITS[three >> 18];
    out[to + 1] = BASE64_DIGITS[(three >> 12) & 63];
    out[to + 2] = BASE64_DIGITS[(three >> 6) & 63];
    out[to + 3] = BASE64_DIGITS[three & 63];
    to += 4;
  }
  if (i === end) return to;
  const isOne = i + 1 === end;
  const rest = (bytes[i] << 16) | (isOne ? 0 : bytes[i + 1] << 8);
  out[to] = BASE64_DIGITS[rest >> 18];
  out[to + 1] = BASE64_DIGITS[(rest >> 12) & 63];
  out[to + 2] = isOne ? 61 : BASE64_DIGITS[(rest >> 6) & 63];
  out[to + 3] = 61;
  return to + 4;
}

/** Writes the 16 bytes at `start` as the text of a UUID. */
export function writeUuid(out: Uint8Array, at: number, bytes: Uint8Array, start: number): number {
  let to = at;
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) out[to++] = 45;
    const byte = bytes[start + i];
    out[to++] = HEX_DIGITS[byte >> 4];
    out[to++] = HEX_DIGITS[byte & 15];
  }
  return to;
}
