import { writeAscii } from './cell-writer.ts';
import { UNSURE, writeShortestDouble, writeShortestFloat } from './shortest-digits.ts';
import { writeInteger, writePadded, writePair, writeUint31 } from './write-number.ts';

/** The most bytes a double takes: 17 digits, sign, point and exponent. */
export const DOUBLE_BYTES = 25;

const TWO_31 = 2_147_483_648;
/** Decimals of up to 15 digits are told apart by a double, so the one that reads back the same is the shortest. */
const FIFTEEN_DIGITS = 1e15;
/** Likewise for a 32-bit float and 6 digits. */
const SIX_DIGITS = 1e6;
const MIN_NORMAL_FLOAT = 2 ** -126;
/**
 * Below a power of two the floats lie closer than above it. So there are floats, these three, for which the nearest decimal
 * of eight digits does not read back the same, but the next one up does.
 */
const SHORTER_UPWARDS: ReadonlyMap<number, number> = new Map([
  [2 ** -96, 1.2621775e-29],
  [2 ** 87, 1.5474251e26],
  [2 ** 90, 1.2379401e27],
]);

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
  if (value < 0) {
    out[at] = 45;
    return writeLongDouble(out, at + 1, -value);
  }
  return writeLongDouble(out, at, value);
}

function writeLongDouble(out: Uint8Array, at: number, value: number): number {
  const to = writeShortestDouble(out, at, value);
  return to === UNSURE ? writeAscii(out, at, String(value)) : to;
}

/** Writes the shortest digits that read back as this finite 32-bit float. */
export function writeFloat(out: Uint8Array, at: number, value: number): number {
  const hundredths = Math.round(value * 100);
  if (hundredths < SIX_DIGITS && hundredths > -SIX_DIGITS && Math.fround(hundredths / 100) === value) {
    return writeScaled(out, at, value, hundredths, 100, 2);
  }
  if (value < 0) {
    out[at] = 45;
    return writeLongFloat(out, at + 1, -value);
  }
  return writeLongFloat(out, at, value);
}

function writeLongFloat(out: Uint8Array, at: number, value: number): number {
  const to = writeShortestFloat(out, at, value);
  if (to !== UNSURE) return to;
  // Below the smallest normal float the numbers lie so far apart that fewer digits can be enough.
  for (let digits = value < MIN_NORMAL_FLOAT ? 1 : 6; digits < 9; digits++) {
    const shorter = Number(value.toPrecision(digits));
    if (Math.fround(shorter) === value) return writeAscii(out, at, String(shorter));
  }
  return writeAscii(out, at, String(SHORTER_UPWARDS.get(value) ?? Number(value.toPrecision(9))));
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
