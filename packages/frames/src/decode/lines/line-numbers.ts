const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;

/** The number of decimal digits, and the powers of ten, that a double represents exactly. */
const EXACT_DIGITS = 15;
const POWERS = Float64Array.from({ length: 23 }, (_, power) => Number(`1e${power}`));

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
  if (!NUMBER.test(text)) return undefined;
  const value = Number(text);
  // A number other than zero must not become zero.
  const isLost = value === 0 && /^[^eE]*[1-9]/.test(text);
  return Number.isFinite(value) && !isLost ? value : undefined;
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

/** Whether a text is the name of a unit. */
export function isLinePrecision(text: string): text is LinePrecision {
  return Object.hasOwn(LINE_PRECISIONS, text);
}
