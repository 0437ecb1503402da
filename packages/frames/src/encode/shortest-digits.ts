import { writeHundredMillion } from './write-number.ts';

/** Says that the digits could not be told for certain; the caller has a slower way. */
export const UNSURE = -1;

// Between these bounds a number has no exponent, and the power of ten that makes it 17 digits long is exact as a double.
const LEAST = 1e-6;
const MOST_DOUBLE = 1e16;
const MOST_FLOAT = 1e9;
const DOUBLE_DIGITS = 17;
const FLOAT_DIGITS = 9;

const POWERS = Float64Array.from({ length: 23 }, (_, n) => Number(`1e${n}`));
/** 2^27 + 1 cuts a double into two halves whose products are exact. */
const SPLITTER = 134_217_729;
const POWER_HEADS = POWERS.map((power) => SPLITTER * power - (SPLITTER * power - power));
const POWER_TAILS = POWERS.map((power, n) => power - POWER_HEADS[n]);

/** The exponents of doubles, as their bits, that the bounds leave. */
const FIRST_EXPONENT = 1003;
/** For each exponent, how many digits the smallest such number has before its point; below 1 the count goes on down. */
const WHOLE_DIGITS = Int32Array.from(
  { length: 75 },
  (_, i) => Math.floor((FIRST_EXPONENT + i - 1023) * Math.log10(2)) + 1,
);
/** For each exponent, half of the distance between neighbouring doubles. */
const HALF_STEPS = Float64Array.from({ length: 75 }, (_, i) => 2 ** (FIRST_EXPONENT + i - 1023 - 53));
/** Neighbouring 32-bit floats lie farther apart by so much. */
const FLOAT_STEPS = 2 ** 29;
/** Where the double that reads like a power of ten is above or below it does not matter: the digits then say so. */
const BOUNDS = Float64Array.from({ length: 23 }, (_, n) => Number(`1e${n - 6}`));

const number = new Float64Array(1);
const words = new Int32Array(number.buffer);

/**
 * Writes the shortest digits that read back as this double, of those the nearest. It is between 10^-6 and 10^16 and no
 * power of two, else the answer is `UNSURE`.
 *
 * The number times a power of ten, exactly, is one of 17 digits. All decimals that are nearer to it than half a step
 * between doubles read back the same: so it is rounded to 15 digits, to 16 and to 17, until it is that near. Fewer than 15
 * need no look, since then the rounding to 15 ends with zeros.
 */
export function writeShortestDouble(out: Uint8Array, at: number, value: number): number {
  number[0] = value;
  if (!(value >= LEAST && value < MOST_DOUBLE) || (words[0] === 0 && (words[1] & 0xfffff) === 0)) return UNSURE;
  const exponent = (words[1] >>> 20) - FIRST_EXPONENT;
  let whole = WHOLE_DIGITS[exponent];
  if (value >= BOUNDS[whole + 6]) whole++;
  const scale = DOUBLE_DIGITS - whole;
  const product = value * POWERS[scale];
  const cut = SPLITTER * value;
  const head = cut - (cut - value);
  const tail = value - head;
  // What the product was rounded by.
  const rest =
    head * POWER_HEADS[scale] -
    product +
    head * POWER_TAILS[scale] +
    tail * POWER_HEADS[scale] +
    tail * POWER_TAILS[scale];
  let upper = Math.floor(product / 1e8);
  let lower = product - upper * 1e8 + rest;
  if (lower < 0) {
    upper--;
    lower += 1e8;
  }
  lower = nearest(lower, HALF_STEPS[exponent] * POWERS[scale], 100);
  if (lower >= 1e8) {
    upper++;
    lower -= 1e8;
  }
  if (lower < 0 || upper < 1e8 || upper >= 1e9) return UNSURE;
  const to = whole > 0 ? at + 1 : writeZeros(out, at, -whole);
  const first = (upper / 1e8) | 0;
  out[to] = 48 + first;
  writeHundredMillion(out, to + 1, upper - first * 1e8);
  writeHundredMillion(out, to + 9, lower);
  return placePoint(out, at, to + DOUBLE_DIGITS, whole);
}

/** The same for a 32-bit float between 10^-6 and 10^9, which has nine digits at the most. */
export function writeShortestFloat(out: Uint8Array, at: number, value: number): number {
  number[0] = value;
  if (!(value >= LEAST && value < MOST_FLOAT) || (words[0] === 0 && (words[1] & 0xfffff) === 0)) return UNSURE;
  const exponent = (words[1] >>> 20) - FIRST_EXPONENT;
  let whole = WHOLE_DIGITS[exponent];
  if (value >= BOUNDS[whole + 6]) whole++;
  const power = POWERS[FLOAT_DIGITS - whole];
  const digits = nearest(value * power, HALF_STEPS[exponent] * FLOAT_STEPS * power, 1000);
  if (digits < 1e8 || digits >= 1e9) return UNSURE;
  const to = whole > 0 ? at + 1 : writeZeros(out, at, -whole);
  const first = (digits / 1e8) | 0;
  out[to] = 48 + first;
  writeHundredMillion(out, to + 1, digits - first * 1e8);
  return placePoint(out, at, to + FLOAT_DIGITS, whole);
}

/** What the numbers here can be wrong by is far below this. */
const MARGIN = 1e-5;

/** Rounds to the largest unit, of those from `unit` down to 1, that stays within `half`. */
function nearest(value: number, half: number, unit: number): number {
  for (let step = unit; step > 1; step /= 10) {
    const rounded = Math.round(value / step) * step;
    const distance = Math.abs(rounded - value);
    if (distance < half - MARGIN) return distance < step / 2 - MARGIN ? rounded : UNSURE;
    if (distance < half + MARGIN) return UNSURE;
  }
  const rounded = Math.round(value);
  return Math.abs(rounded - value) < 0.5 - MARGIN ? rounded : UNSURE;
}

/** Writes `0.` and zeros. */
function writeZeros(out: Uint8Array, at: number, zeros: number): number {
  out[at] = 48;
  out[at + 1] = 46;
  for (let i = 0; i < zeros; i++) out[at + 2 + i] = 48;
  return at + 2 + zeros;
}

/** Ends digits that begin one place behind `at`, so that there is room for the point; takes the zeros off their end. */
function placePoint(out: Uint8Array, at: number, end: number, whole: number): number {
  let to = end;
  if (whole > 0) {
    for (let i = at; i < at + whole; i++) out[i] = out[i + 1];
    out[at + whole] = 46;
  }
  while (out[to - 1] === 48) to--;
  return out[to - 1] === 46 ? to - 1 : to;
}
