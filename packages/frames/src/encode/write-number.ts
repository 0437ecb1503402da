/** The two digits of 0 to 99, as one big-endian 16-bit number each. */
export const DIGIT_PAIRS = new Uint16Array(100);
for (let n = 0; n < 100; n++) DIGIT_PAIRS[n] = ((48 + Math.floor(n / 10)) << 8) | (48 + (n % 10));

/** The most bytes a 64-bit integer takes: 19 digits and a sign, or 20 digits. */
export const INT64_BYTES = 20;
/** The most bytes a double takes: 17 digits, sign, point and exponent. */
export const DOUBLE_BYTES = 25;

const TWO_31 = 2_147_483_648;
const TWO_32 = 4_294_967_296;
/** Decimals of up to 15 digits are told apart by a double, so the one that reads back the same is the shortest. */
const FIFTEEN_DIGITS = 1e15;
/** Likewise for a 32-bit float and 6 digits. */
const SIX_DIGITS = 1e6;
const MIN_NORMAL_FLOAT = 2 ** -126;

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

/** Writes 0 ≤ n < 2^31: small enough for the engine to divide as integers. */
function writeUint31(out: Uint8Array, at: number, n: number): number {
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
  return writeText(out, at, String((BigInt(high) << 32n) | BigInt(low >>> 0)));
}

/** Writes the unsigned 64-bit integer of these two 32-bit words. */
export function writeUint64(out: Uint8Array, at: number, low: number, high: number): number {
  const n = (high >>> 0) * TWO_32 + (low >>> 0);
  if (Number.isSafeInteger(n)) return writeInteger(out, at, n);
  return writeText(out, at, String((BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)));
}

/** Writes the shortest digits that read back as this finite double. */
export function writeDouble(out: Uint8Array, at: number, value: number): number {
  const hundredths = Math.round(value * 100);
  if (hundredths / 100 === value && hundredths < FIFTEEN_DIGITS && hundredths > -FIFTEEN_DIGITS) {
    if (hundredths > 0 && hundredths < TWO_31) return writeHundredths(out, at, hundredths);
    return writeScaled(out, at, value, hundredths, 100, 2);
  }
  const millionths = Math.round(value * 1e6);
  if (millionths / 1e6 === value && millionths < FIFTEEN_DIGITS && millionths > -FIFTEEN_DIGITS) {
    return writeScaled(out, at, value, millionths, 1e6, 6);
  }
  return writeText(out, at, String(value));
}

/** Writes the shortest digits that read back as this finite 32-bit float. */
export function writeFloat(out: Uint8Array, at: number, value: number): number {
  const hundredths = Math.round(value * 100);
  if (hundredths < SIX_DIGITS && hundredths > -SIX_DIGITS && Math.fround(hundredths / 100) === value) {
    return writeScaled(out, at, value, hundredths, 100, 2);
  }
  // Below the smallest normal float the numbers lie so far apart that fewer digits can be enough.
  for (let digits = Math.abs(value) < MIN_NORMAL_FLOAT ? 1 : 6; digits < 9; digits++) {
    const shorter = Number(value.toPrecision(digits));
    if (Math.fround(shorter) === value) return writeText(out, at, String(shorter));
  }
  return writeText(out, at, String(Number(value.toPrecision(9))));
}

/** Writes 0 < n < 2^31 hundredths, the most usual of all decimals, with integers alone. */
function writeHundredths(out: Uint8Array, at: number, n: number): number {
  const hundredths = n | 0;
  const whole = (hundredths / 100) | 0;
  const fraction = hundredths - whole * 100;
  const to = writeUint31(out, at, whole);
  if (fraction === 0) return to;
  out[to] = 46;
  writePair(out, to + 1, fraction);
  return out[to + 2] === 48 ? to + 2 : to + 3;
}

/** Writes `scaled / scale` without trailing zeros; `value` tells a negative zero. */
function writeScaled(
  out: Uint8Array,
  at: number,
  value: number,
  scaled: number,
  scale: number,
  decimals: number,
): number {
  let to = at;
  let magnitude = scaled;
  if (scaled < 0 || (scaled === 0 && 1 / value < 0)) {
    out[to++] = 45;
    magnitude = -scaled;
  }
  const whole = magnitude < TWO_31 ? (magnitude / scale) | 0 : Math.floor(magnitude / scale);
  const fraction = magnitude - whole * scale;
  to = writeInteger(out, to, whole);
  if (fraction === 0) return to;
  out[to] = 46;
  to = decimals === 2 ? writePair(out, to + 1, fraction) : writePadded(out, to + 1, fraction, decimals);
  while (out[to - 1] === 48) to--;
  return to;
}

function writeText(out: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) out[at + i] = text.charCodeAt(i);
  return at + text.length;
}
