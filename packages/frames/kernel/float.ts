import { MAX_POWER, MIN_POWER } from '../src/encode/kernel-layout';
import { writeDecimals, writePair, writeUint } from './digits';

/** Powers of ten of 128 bits, the lower half first, scaled to fill them and rounded up. The caller puts them here. */
export const POWERS: usize = memory.data((MAX_POWER - MIN_POWER + 1) * 16, 16);

const HIDDEN_BIT: u64 = 1 << 52;
const WHOLE_NUMBERS: f64 = 9007199254740992;

/** The upper half of a product of 128 bits. */
function highProduct(a: u64, b: u64): u64 {
  const aLow = a & 0xffff_ffff;
  const aHigh = a >> 32;
  const bLow = b & 0xffff_ffff;
  const bHigh = b >> 32;
  const middle = aHigh * bLow + ((aLow * bLow) >> 32);
  const other = aLow * bHigh + (middle & 0xffff_ffff);
  return aHigh * bHigh + (middle >> 32) + (other >> 32);
}

/** power × n / 2^128, its lowest bit set where a part is cut off. */
function scaled(powerLow: u64, powerHigh: u64, n: u64): u64 {
  const low = powerHigh * n;
  const sum = low + highProduct(powerLow, n);
  const high = highProduct(powerHigh, n) + (sum < low ? 1 : 0);
  return high | (sum > 1 ? 1 : 0);
}

// What `shorten` finds: digits × 10^exponent.
let digits: u64 = 0;
let exponent: i32 = 0;

/**
 * Finds the shortest decimal that reads back as c × 2^q, and of those the nearest, by Giulietti's Schubfach: of the
 * multiples of one power of ten at most two lie between the halves to the neighbours, and of the next greater power at
 * most one. Of two that are as near it takes the even one, which is what JavaScript does; for floats of 32 bits, which it
 * has not, the greater, as its `toPrecision` does.
 */
function shorten(c: u64, q: i32, isNarrow: bool, isFloat: bool): void {
  const isOdd: u64 = c & 1;
  // Below a power of two the neighbour is only half as far away.
  const k = (q * 1_262_611 - (isNarrow ? 524_031 : 0)) >> 22;
  const h = q + ((-k * 1_741_647) >> 19) + 1;
  const power = POWERS + ((-k - MIN_POWER) << 4);
  const powerLow = load<u64>(power);
  const powerHigh = load<u64>(power, 8);
  const quarters = c << 2;
  const lower = scaled(powerLow, powerHigh, (quarters - (isNarrow ? 1 : 2)) << h) + isOdd;
  const value = scaled(powerLow, powerHigh, quarters << h);
  const upper = scaled(powerLow, powerHigh, (quarters + 2) << h) - isOdd;
  const s = value >> 2;
  if (s >= 10) {
    const tens = s / 10;
    const isDown = lower <= 40 * tens;
    const isUp = 40 * tens + 40 <= upper;
    if (isDown != isUp) {
      digits = tens + (isUp ? 1 : 0);
      exponent = k + 1;
      return;
    }
  }
  exponent = k;
  const isDown = lower <= 4 * s;
  const isUp = 4 * s + 4 <= upper;
  if (isDown != isUp) {
    digits = s + (isUp ? 1 : 0);
    return;
  }
  const half = 4 * s + 2;
  digits = s + (value > half || (value == half && (isFloat || (s & 1) != 0)) ? 1 : 0);
}

/** Writes digits × 10^exponent the way JavaScript prints numbers. */
function writeDecimal(at: usize): usize {
  while (digits % 10 == 0) {
    digits /= 10;
    exponent++;
  }
  // One place further on, so that there is room for the point.
  const end = writeUint(at + 1, digits);
  const length = (end - at - 1) as i32;
  const point = length + exponent;
  if (point > 21 || point < -5) return writeExponent(at, end, length, point - 1);
  if (point > 0 && exponent < 0) {
    for (let i = 0; i < point; i++) store<u8>(at + i, load<u8>(at + i, 1));
    store<u8>(at + point, 46);
    return end;
  }
  const first = v128.load(at, 1);
  const last = load<u8>(at, 17);
  if (point > 0) {
    v128.store(at, first);
    store<u8>(at, last, 16);
    memory.fill(at + length, 48, exponent);
    return at + point;
  }
  store<u64>(at, 0x3030_3030_3030_2e30);
  v128.store(at + 2 - point, first);
  store<u8>(at + 2 - point, last, 16);
  return at + 2 - point + length;
}

function writeExponent(at: usize, end: usize, length: i32, e: i32): usize {
  store<u8>(at, load<u8>(at, 1));
  let to = at + 1;
  if (length > 1) {
    store<u8>(at, 46, 1);
    to = end;
  }
  store<u8>(to, 101);
  store<u8>(to, e < 0 ? 45 : 43, 1);
  return writeUint(to + 2, abs(e));
}

/** Added to a small number, it rounds it and leaves the whole number in the lowest bits. */
const ROUNDER: f64 = 4503599627370496;

/** Writes a finite double: the shortest digits that read back the same. */
export function writeDouble(at: usize, value: f64): usize {
  const bits = reinterpret<u64>(value);
  const magnitude = abs(value);
  let to = at;
  if ((bits as i64) < 0) store<u8>(to++, 45);
  // A double tells all decimals of 15 digits apart, so that one which is the value is the shortest there is.
  const hundredths = magnitude * 100 + ROUNDER;
  if (hundredths < ROUNDER + 1e8 && (hundredths - ROUNDER) / 100 == magnitude) {
    const n = reinterpret<u64>(hundredths) as u32;
    const whole = n / 100;
    to = writeUint(to, whole);
    const fraction = n - whole * 100;
    if (fraction == 0) return to;
    store<u8>(to, 46);
    writePair(to + 1, fraction);
    return to + 3 - (load<u8>(to, 2) == 48 ? 1 : 0);
  }
  const millionths = magnitude * 1e6 + ROUNDER;
  if (millionths < ROUNDER + 1e15 && (millionths - ROUNDER) / 1e6 == magnitude) {
    const whole = trunc(magnitude);
    const fraction = (millionths - ROUNDER - whole * 1e6) as u32;
    to = writeUint(to, reinterpret<u64>(whole + ROUNDER) as u32);
    return fraction == 0 ? to : writeDecimals(to, fraction * 100);
  }
  if (magnitude < WHOLE_NUMBERS && trunc(magnitude) == magnitude) return writeUint(to, magnitude as u64);
  const fraction = bits & (HIDDEN_BIT - 1);
  const biased = ((bits >> 52) & 0x7ff) as i32;
  if (biased == 0) shorten(fraction, -1074, false, false);
  else shorten(fraction | HIDDEN_BIT, biased - 1075, fraction == 0 && biased > 1, false);
  return writeDecimal(to);
}

/** Writes a finite float of 32 bits: the shortest digits that read back as the same float. */
export function writeFloat(at: usize, value: f32): usize {
  const bits = reinterpret<u32>(value);
  let to = at;
  if ((bits as i32) < 0) store<u8>(to++, 45);
  const fraction = bits & 0x7f_ffff;
  const biased = ((bits >> 23) & 0xff) as i32;
  if (biased != 0) {
    shorten((fraction | 0x80_0000) as u64, biased - 150, fraction == 0 && biased > 1, true);
  } else {
    if (fraction == 0) return writeUint(to, 0);
    shorten(fraction as u64, -149, false, true);
  }
  return writeDecimal(to);
}

/** The float of 32 bits that has the value of one of 16. */
export function floatFromHalf(half: u32): f32 {
  const sign = (half & 0x8000) << 16;
  const biased = (half >> 10) & 31;
  const fraction = half & 1023;
  // Below the normal halves a step is 2^-24.
  if (biased == 0) return copysign<f32>((fraction as f32) * reinterpret<f32>(103 << 23), reinterpret<f32>(sign));
  return reinterpret<f32>(sign | ((biased == 31 ? 255 : biased + 112) << 23) | (fraction << 13));
}
