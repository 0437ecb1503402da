import { writeAscii } from './cell-writer.ts';

/** The two digits of 0 to 99, as one big-endian 16-bit number each. */
export const DIGIT_PAIRS = new Uint16Array(100);
for (let n = 0; n < 100; n++) DIGIT_PAIRS[n] = ((48 + Math.floor(n / 10)) << 8) | (48 + (n % 10));

/** The most bytes a 64-bit integer takes: 19 digits and a sign, or 20 digits. */
export const INT64_BYTES = 20;

const TWO_31 = 2_147_483_648;
const TWO_32 = 4_294_967_296;

/** Writes two decimal digits, 0 ≤ n < 100. */
export function writePair(out: Uint8Array, at: number, n: number): number {
  const pair = DIGIT_PAIRS[n];
  out[at] = pair >> 8;
  out[at + 1] = pair;
  return at + 2;
}

/** Writes exactly `width` digits of 0 ≤ n < 2^31, with zeros in front. */
export function writePadded(out: Uint8Array, at: number, n: number, width: number): number {
  let rest = n | 0;
  for (let i = at + width - 1; i >= at; i--) {
    const tenth = (rest / 10) | 0;
    out[i] = 48 + (rest - tenth * 10);
    rest = tenth;
  }
  return at + width;
}

/** Writes exactly eight digits of 0 ≤ n < 10^8. */
export function writeHundredMillion(out: Uint8Array, at: number, n: number): void {
  const digits = n | 0;
  const upper = (digits / 10_000) | 0;
  const lower = digits - upper * 10_000;
  const first = (upper / 100) | 0;
  const third = (lower / 100) | 0;
  writePair(out, at, first);
  writePair(out, at + 2, upper - first * 100);
  writePair(out, at + 4, third);
  writePair(out, at + 6, lower - third * 100);
}

/** Writes 0 ≤ n < 2^31: small enough for the engine to divide as integers. */
export function writeUint31(out: Uint8Array, at: number, n: number): number {
  if (n < 10) {
    out[at] = 48 + n;
    return at + 1;
  }
  const end = at + digitCount(n);
  let rest = n | 0;
  let i = end;
  while (rest >= 100) {
    const hundredth = (rest / 100) | 0;
    i -= 2;
    writePair(out, i, rest - hundredth * 100);
    rest = hundredth;
  }
  if (rest >= 10) writePair(out, i - 2, rest);
  else out[i - 1] = 48 + rest;
  return end;
}

function digitCount(n: number): number {
  if (n < 100_000) return n < 100 ? 2 : n < 1000 ? 3 : n < 10_000 ? 4 : 5;
  if (n < 10_000_000) return n < 1_000_000 ? 6 : 7;
  return n < 100_000_000 ? 8 : n < 1_000_000_000 ? 9 : 10;
}

/** Writes an integer of at most 53 bits. */
export function writeInteger(out: Uint8Array, at: number, n: number): number {
  if (n < 0) {
    out[at] = 45;
    return writeInteger(out, at + 1, -n);
  }
  if (n < TWO_31) return writeUint31(out, at, n);
  const billions = Math.floor(n / 1e9);
  return writePadded(out, writeUint31(out, at, billions), n - billions * 1e9, 9);
}

/** Writes the signed 64-bit integer of these two 32-bit words. */
export function writeInt64(out: Uint8Array, at: number, low: number, high: number): number {
  if (high === low >> 31) return writeInteger(out, at, low);
  const n = high * TWO_32 + (low >>> 0);
  if (Number.isSafeInteger(n)) return writeInteger(out, at, n);
  return writeAscii(out, at, String((BigInt(high) << 32n) | BigInt(low >>> 0)));
}

/** Writes the unsigned 64-bit integer of these two 32-bit words. */
export function writeUint64(out: Uint8Array, at: number, low: number, high: number): number {
  const n = (high >>> 0) * TWO_32 + (low >>> 0);
  if (Number.isSafeInteger(n)) return writeInteger(out, at, n);
  return writeAscii(out, at, String((BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)));
}
