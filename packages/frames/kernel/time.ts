import { IS_CSV, IS_QUOTED, UNITS } from '../src/encode/kernel/kernel-layout';
import { writePair, writeUint } from './digits';

// After its descriptor, a timestamp column caches a time span and the text prefix of timestamps in it.
const SPAN_START: usize = UNITS + 8;
const SPAN_UNITS: usize = UNITS + 16;
const SPAN_SECOND: usize = UNITS + 24;
const PREFIX_LENGTH: usize = UNITS + 28;
const PREFIX: usize = UNITS + 32;

const DAY_SECONDS: i64 = 86_400;
const DAY_MILLIS: i64 = 86_400_000;
const MICROS: u32 = 1_000_000;
const NANOS: i64 = 1_000_000_000;
const INFINITY_TEXT: u64 = 0x7974_696e_6966_6e69;
/** `00:00:00` and `.000Z`. */
const MIDNIGHT: u64 = 0x3030_3a30_303a_3030;
const MIDNIGHT_END: u64 = 0x5a_3030_302e;

function floorDivide(n: i64, by: i64): i64 {
  const quotient = n / by;
  return n < quotient * by ? quotient - 1 : quotient;
}

/** Writes a day, given as days since 1970, and a T: `2024-01-02T`. */
function writeDay(at: usize, date: i64): usize {
  const shifted = date + 719_468;
  const era = floorDivide(shifted, 146_097);
  const dayOfEra = (shifted - era * 146_097) as i32;
  const yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365;
  const dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
  const shiftedMonth = (5 * dayOfYear + 2) / 153;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1;
  const to = writeYear(at, era * 400 + yearOfEra + (month <= 2 ? 1 : 0));
  store<u8>(to, 45);
  writePair(to + 1, month);
  store<u8>(to, 45, 3);
  writePair(to + 4, day);
  store<u8>(to, 84, 6);
  return to + 7;
}

/** Writes four digits, or the expanded form of ISO 8601 for longer years. */
function writeYear(at: usize, year: i64): usize {
  if (year >= 0 && year <= 9999) {
    const century = (year as u32) / 100;
    writePair(at, century);
    writePair(at + 2, (year as u32) - century * 100);
    return at + 4;
  }
  store<u8>(at, year < 0 ? 45 : 43);
  const magnitude = abs(year);
  let to = at + 1;
  for (let least: i64 = 100_000; least > magnitude && least > 1; least /= 10) store<u8>(to++, 48);
  return writeUint(to, magnitude);
}

function writeInfinity(at: usize, isNegative: bool): usize {
  let to = at;
  if (isNegative) store<u8>(to++, 45);
  store<u64>(to, INFINITY_TEXT);
  return to + 8;
}

/** Writes a day: alone in CSV, so that it reads back as a date, else as its midnight with three decimals. */
function writeMidnight(column: usize, at: usize, date: i64): usize {
  const to = writeDay(at, date);
  if (load<u32>(column, IS_CSV)) return to - 1;
  store<u64>(to, MIDNIGHT);
  store<u64>(to, MIDNIGHT_END, 8);
  return to + 13;
}

/** Writes a date, given as days since 1970. */
export function writeDate(column: usize, at: usize, date: i32): usize {
  if (date == i32.MAX_VALUE || date == -i32.MAX_VALUE) return writeInfinity(at, date < 0);
  return writeMidnight(column, at, date);
}

/** Writes the date of a count of milliseconds since 1970. */
export function writeMillisDate(column: usize, at: usize, millis: i64): usize {
  if (millis == i64.MAX_VALUE || millis == -i64.MAX_VALUE) return writeInfinity(at, millis < 0);
  return writeMidnight(column, at, floorDivide(millis, DAY_MILLIS));
}

/**
 * Caches the text up to the seconds of this timestamp's minute, `"2024-01-02T03:04:`; returns the units since the start
 * of that minute. For nanoseconds it caches the second, so that the units fit in 32 bits.
 */
function keepSpan(column: usize, moment: i64): i64 {
  const units = load<i64>(column, UNITS);
  const seconds = floorDivide(moment, units);
  const days = floorDivide(seconds, DAY_SECONDS);
  const secondOfDay = (seconds - days * DAY_SECONDS) as u32;
  const minute = secondOfDay / 60;
  const hour = minute / 60;
  const second = secondOfDay - minute * 60;
  const prefix = column + PREFIX;
  let to = prefix;
  if (load<u32>(column, IS_QUOTED)) store<u8>(to++, 34);
  to = writeDay(to, days);
  writePair(to, hour);
  store<u8>(to, 58, 2);
  writePair(to + 3, minute - hour * 60);
  store<u8>(to, 58, 5);
  store<u32>(column, to + 6 - prefix, PREFIX_LENGTH);
  const isSecond = units == NANOS;
  const left = moment - seconds * units + (isSecond ? 0 : (second as i64) * units);
  store<u32>(column, isSecond ? second : 0, SPAN_SECOND);
  store<i64>(column, moment - left, SPAN_START);
  // A span at either end of the range would reach the other end, which has the infinities.
  const span = isSecond ? units : 60 * units;
  store<i64>(column, moment > i64.MAX_VALUE - span || moment < span - i64.MAX_VALUE ? 0 : span, SPAN_UNITS);
  return left;
}

/** Writes a count of units since 1970 as a UTC timestamp with six decimals, nine for nanoseconds. */
export function writeTimestamp(column: usize, at: usize, moment: i64): usize {
  const isQuoted = load<u32>(column, IS_QUOTED);
  // Most rows have the same minute as the previous row.
  let left = (moment - load<i64>(column, SPAN_START)) as u64;
  if (left >= load<u64>(column, SPAN_UNITS)) {
    if (moment == i64.MAX_VALUE || moment == -i64.MAX_VALUE) {
      store<u8>(at, 34);
      const to = writeInfinity(at + isQuoted, moment < 0);
      store<u8>(to, 34);
      return to + isQuoted;
    }
    left = keepSpan(column, moment);
  }
  v128.store(at, v128.load(column, PREFIX));
  v128.store(at, v128.load(column, PREFIX + 16), 16);
  let to = at + load<u32>(column, PREFIX_LENGTH);
  const perSecond = load<u32>(column, UNITS);
  // Division by a constant is much faster, and microseconds are the most common unit.
  const seconds = perSecond == MICROS ? (left as u32) / MICROS : (left as u32) / perSecond;
  const units = (left as u32) - seconds * perSecond;
  writePair(to, load<u32>(column, SPAN_SECOND) + seconds);
  to = writeSubsecond(to + 2, units, perSecond);
  store<u16>(to, 0x225a);
  return to + 1 + isQuoted;
}

/** Writes the fraction of a second: six decimals, nine for nanoseconds. */
function writeSubsecond(at: usize, units: u32, perSecond: u32): usize {
  const isNano = perSecond > MICROS;
  const micros = isNano ? units / 1000 : perSecond == MICROS ? units : units * (MICROS / perSecond);
  const upper = micros / 10_000;
  const lower = micros - upper * 10_000;
  const middle = lower / 100;
  store<u8>(at, 46);
  writePair(at + 1, upper);
  writePair(at + 3, middle);
  writePair(at + 5, lower - middle * 100);
  if (!isNano) return at + 7;
  const nanos = units - micros * 1000;
  store<u8>(at, 48 + nanos / 100, 7);
  writePair(at + 8, nanos % 100);
  return at + 10;
}

/** Writes a count of units since midnight. A value outside a day has more than 23 hours, or a sign. */
export function writeTimeOfDay(at: usize, count: i64, perSecond: i64): usize {
  let to = at;
  if (count < 0) store<u8>(to++, 45);
  const magnitude = abs(count) as u64;
  const seconds = magnitude / (perSecond as u64);
  const hours = seconds / 3600;
  const second = (seconds - hours * 3600) as u32;
  if (hours < 10) store<u8>(to++, 48);
  to = writeUint(to, hours);
  store<u8>(to, 58);
  writePair(to + 1, second / 60);
  store<u8>(to, 58, 3);
  writePair(to + 4, second % 60);
  return writeSubsecond(to + 6, (magnitude - seconds * (perSecond as u64)) as u32, perSecond as u32);
}
