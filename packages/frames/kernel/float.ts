import { MAX_POWER, MIN_POWER } from '../src/encode/kernel/kernel-layout';
import { spread, writeDecimals, writePair, writeUint, ZEROS } from './digits';

/** 128-bit powers of ten, the lower half first, normalized and rounded up. The caller fills this table. */
export const POWERS: usize = memory.data((MAX_POWER - MIN_POWER + 1) * 16, 16);

const HIDDEN_BIT: u64 = 1 << 52;
const WHOLE_NUMBERS: f64 = 9007199254740992;

/** Returns the upper half of a 128-bit product. */
function highProduct(a: u64, b: u64): u64 {
  const aLow = a & 0xffff_ffff;
  const aHigh = a >> 32;
  const bLow = b & 0xffff_ffff;
  const bHigh = b >> 32;
  const middle = aHigh * bLow + ((aLow * bLow) >> 32);
  const other = aLow * bHigh + (middle & 0xffff_ffff);
  return aHigh * bHigh + (middle >> 32) + (other >> 32);
}

/** Returns power × n / 2^128, with a sticky lowest bit if the result is inexact. */
function scaled(powerLow: u64, powerHigh: u64, n: u64): u64 {
  const low = powerHigh * n;
  const high = highProduct(powerHigh, n);
  // The powers from 10^0 to 10^27 fit in 64 bits, and nearly all values need only those.
  if (powerLow == 0) return high | (low > 1 ? 1 : 0);
  const sum = low + highProduct(powerLow, n);
  return (high + (sum < low ? 1 : 0)) | (sum > 1 ? 1 : 0);
}

/**
 * Writes the shortest decimal that reads back as c × 2^q, and the closest of those, with Giulietti's Schubfach: between
 * the midpoints to the neighbours there are at most two multiples of one power of ten, and at most one of the next
 * power. It breaks ties to even, as JavaScript does; for 32-bit floats, which JavaScript does not have, upwards, as its
 * `toPrecision` does.
 */
function writeShortest(at: usize, c: u64, q: i32, isNarrow: bool, isFloat: bool): usize {
  const isOdd: u64 = c & 1;
  // Below a power of two, the neighbour is only half as far away.
  const k = (q * 1_262_611 - (isNarrow ? 524_031 : 0)) >> 22;
  const h = q + ((-k * 1_741_647) >> 19) + 1;
  const power = POWERS + ((-k - MIN_POWER) << 4);
  const powerLow = load<u64>(power);
  const powerHigh = load<u64>(power, 8);
  const quarters = c << 2;
  const lower = scaled(powerLow, powerHigh, (quarters - (isNarrow ? 1 : 2)) << h) + isOdd;
  const value = scaled(powerLow, powerHigh, quarters << h);
  const upper = scaled(powerLow, powerHigh, (quarters + 2) << h) - isOdd;
  // The choice is unpredictable: computing all candidates is faster than mispredicted branches.
  const s = value >> 2;
  const tens = s / 10;
  const isTenDown = lower <= 40 * tens;
  const isTenUp = 40 * tens + 40 <= upper;
  const isDown = lower <= 4 * s;
  const isUp = 4 * s + 4 <= upper;
  const half = 4 * s + 2;
  const isNearerUp = (value > half) | ((value == half) & (isFloat | ((s & 1) != 0)));
  const one = s + (select<bool>(isUp, isNearerUp, isDown != isUp) as u64);
  const ten = 10 * (tens + (isTenUp as u64));
  return writeDecimal(at, select<u64>(ten, one, (s >= 10) & (isTenDown != isTenUp)), k);
}

/** The powers of ten from 10^0 to 10^16. */
const TENS: usize = memory.data<u64>([
  1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000,
  100_000_000_000, 1_000_000_000_000, 10_000_000_000_000, 100_000_000_000_000, 1_000_000_000_000_000,
  10_000_000_000_000_000,
]);

/** Returns the digits that a number of fewer than 16 digits lacks to 17. */
function missingDigits(n: u64): i32 {
  const least = ((64 - (clz(n) as i32)) * 1233) >> 12;
  return 16 - least + (n < load<u64>(TENS + (least << 3)) ? 1 : 0);
}

/** Writes 0 < n × 10^exponent, n < 10^17, as JavaScript prints numbers. */
function writeDecimal(at: usize, n: u64, exponent: i32): usize {
  // With trailing zeros, n has 17 digits: eight, eight and one.
  const missing = n < 1_000_000_000_000_000 ? missingDigits(n) : n < 10_000_000_000_000_000 ? 1 : 0;
  const digits = n * load<u64>(TENS + (missing << 3));
  const point = 17 - missing + exponent;
  const upper = digits / 1_000_000_000;
  const rest = (digits - upper * 1_000_000_000) as u32;
  const middle = rest / 10;
  const last = rest - middle * 10;
  const a = spread(upper as u32);
  const b = spread(middle);
  const length =
    17 - select<i32>(0, select<i32>(1 + ((clz(b) >> 3) as i32), 9 + ((clz(a) >> 3) as i32), b != 0), last != 0);
  return writePointed(at, a | ZEROS, b | ZEROS, 48 + last, length, point);
}

/** Writes the first `length` of 17 digits, with a point after `point` of them, or an exponent. */
function writePointed(at: usize, first: u64, second: u64, last: u32, length: i32, point: i32): usize {
  const isExponential = point > 21 || point < -5;
  const places = isExponential ? 1 : point;
  if (places > 0 && (places < length || isExponential)) {
    // Write the digits after the point again, shifted by one.
    store<u64>(at, first);
    if (places > 8) store<u64>(at, second, 8);
    store<u64>(at + places, places > 8 ? second >> ((places - 8) << 3) : first >> (places << 3), 1);
    store<u8>(at + places, 46);
    if (places <= 8) store<u64>(at, second, 9);
    store<u8>(at, last, 17);
    if (!isExponential) return at + length + 1;
    return writeExponent(length > 1 ? at + length + 1 : at + 1, point - 1);
  }
  let to = at;
  if (point <= 0) {
    store<u64>(at, 0x3030_3030_3030_2e30);
    to += 2 - point;
  }
  store<u64>(to, first);
  store<u64>(to, second, 8);
  store<u8>(to, last, 16);
  store<u64>(to, ZEROS, 17);
  return to + max(length, point);
}

function writeExponent(at: usize, e: i32): usize {
  store<u8>(at, 101);
  store<u8>(at, e < 0 ? 45 : 43, 1);
  return writeUint(at + 2, abs(e));
}

/** Added to a small number, it rounds it and leaves the integer in the lowest bits. */
const ROUNDER: f64 = 4503599627370496;

/** Writes a finite double: the shortest digits that read back the same. */
export function writeDouble(at: usize, value: f64): usize {
  const bits = reinterpret<u64>(value);
  const magnitude = abs(value);
  let to = at;
  if ((bits as i64) < 0) store<u8>(to++, 45);
  // Doubles distinguish all decimals of 15 digits, so a decimal that equals the value is the shortest.
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
  if (biased == 0) return writeShortest(to, fraction, -1074, false, false);
  return writeShortest(to, fraction | HIDDEN_BIT, biased - 1075, fraction == 0 && biased > 1, false);
}

/** Writes a finite 32-bit float: the shortest digits that read back as the same float. */
export function writeFloat(at: usize, value: f32): usize {
  const bits = reinterpret<u32>(value);
  let to = at;
  if ((bits as i32) < 0) store<u8>(to++, 45);
  const fraction = bits & 0x7f_ffff;
  const biased = ((bits >> 23) & 0xff) as i32;
  if (biased == 0) return fraction == 0 ? writeUint(to, 0) : writeShortest(to, fraction as u64, -149, false, true);
  return writeShortest(to, (fraction | 0x80_0000) as u64, biased - 150, fraction == 0 && biased > 1, true);
}

/** Converts a 16-bit float to 32 bits. */
export function floatFromHalf(half: u32): f32 {
  const sign = (half & 0x8000) << 16;
  const biased = (half >> 10) & 31;
  const fraction = half & 1023;
  // Subnormal halves have a step of 2^-24.
  if (biased == 0) return copysign<f32>((fraction as f32) * reinterpret<f32>(103 << 23), reinterpret<f32>(sign));
  return reinterpret<f32>(sign | ((biased == 31 ? 255 : biased + 112) << 23) | (fraction << 13));
}
