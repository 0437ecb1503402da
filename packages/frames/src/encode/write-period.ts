import { DAY, parts, SECOND, splitMagnitude, UNITS, type UnitsPerSecond } from './split-units.ts';
import { writeInteger, writePadded, writePair } from './write-number.ts';

/** The most bytes a period takes: seven parts with a sign and a letter each, the hours of 2^63 seconds, nine decimals. */
export const PERIOD_BYTES = 80;
/** The most bytes a time of day takes, should it have the hours of 2^63 microseconds. */
export const TIME_BYTES = 32;

const DECIMALS: Readonly<Record<UnitsPerSecond, number>> = { 1: 0, 1_000: 3, 1_000_000: 6, 1_000_000_000: 9 };

/**
 * Writes months, days and a 64-bit count of units (as two words) as an ISO 8601 duration. Every part has its own sign,
 * and those that are zero are left out.
 */
export function writePeriod(
  out: Uint8Array,
  at: number,
  months: number,
  days: number,
  low: number,
  high: number,
  unitsPerSecond: UnitsPerSecond,
): number {
  out[at] = 80;
  const years = Math.trunc(months / 12);
  let to = writePart(out, at + 1, years, 89);
  to = writePart(out, to, months - years * 12, 77);
  to = writePart(out, to, days, 68);
  if (low !== 0 || high !== 0) return writeClock(out, to, low, high, unitsPerSecond);
  if (to > at + 1) return to;
  out[to] = 84;
  out[to + 1] = 48;
  out[to + 2] = 83;
  return to + 3;
}

function writePart(out: Uint8Array, at: number, n: number, letter: number): number {
  if (n === 0) return at;
  const to = writeInteger(out, at, n);
  out[to] = letter;
  return to + 1;
}

/** Writes hours, minutes and seconds of a period, behind a T. */
function writeClock(out: Uint8Array, at: number, low: number, high: number, unitsPerSecond: UnitsPerSecond): number {
  const sign = splitMagnitude(unitsPerSecond, low, high) ? -1 : 1;
  const hours = Math.floor(parts[SECOND] / 3600);
  const minutes = Math.floor(parts[SECOND] / 60) - hours * 60;
  const seconds = parts[SECOND] % 60;
  out[at] = 84;
  let to = writePart(out, at + 1, sign * (parts[DAY] * 24 + hours), 72);
  to = writePart(out, to, sign * minutes, 77);
  if (seconds === 0 && parts[UNITS] === 0) return to;
  if (sign < 0) out[to++] = 45;
  to = writeInteger(out, to, seconds);
  if (parts[UNITS] > 0) {
    out[to] = 46;
    to = writePadded(out, to + 1, parts[UNITS], DECIMALS[unitsPerSecond]);
    while (out[to - 1] === 48) to--;
  }
  out[to] = 83;
  return to + 1;
}

/**
 * Writes a time of day, a 64-bit count of units since midnight (as two words), with six decimals, nine for nanoseconds.
 * What is outside of a day is written as it is: more hours than 23, or a sign.
 */
export function writeTimeOfDay(
  out: Uint8Array,
  at: number,
  low: number,
  high: number,
  unitsPerSecond: UnitsPerSecond,
): number {
  let to = at;
  if (splitMagnitude(unitsPerSecond, low, high)) out[to++] = 45;
  const minutes = Math.floor(parts[SECOND] / 60);
  const hours = Math.floor(minutes / 60);
  const allHours = parts[DAY] * 24 + hours;
  to = allHours < 100 ? writePair(out, to, allHours) : writeInteger(out, to, allHours);
  out[to] = 58;
  to = writePair(out, to + 1, minutes - hours * 60);
  out[to] = 58;
  to = writePair(out, to + 1, parts[SECOND] - minutes * 60);
  out[to] = 46;
  if (unitsPerSecond === 1_000_000_000) return writePadded(out, to + 1, parts[UNITS], 9);
  return writePadded(out, to + 1, parts[UNITS] * (1_000_000 / unitsPerSecond), 6);
}
