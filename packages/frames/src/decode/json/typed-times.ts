import type { Time, TimeUnit } from 'apache-arrow';
import { nanosecondsOf, UNITS_PER_SECOND, type Values } from '../../columns/column-data.ts';
import { allocateCounted, TAG, type TypedSegment } from './json-column.ts';
import { misfitAt, requireKinds } from './json-text.ts';

const DAY_SECONDS = 86_400;
const INT32_MAX = 2 ** 31 - 1;
/** The ends of the range mean infinity. */
const INT64_MAX = 2n ** 63n - 1n;

/** Calls `put` for each string in UTF-8. It returns false for a misfit. */
export function forEachText(
  { column, target, segment }: TypedSegment,
  put: (bytes: Uint8Array, start: number, end: number, row: number) => boolean,
): void {
  if (segment === undefined) return;
  requireKinds(column, target, segment, 1 << TAG.string);
  const { tags, text, textOffsets } = segment;
  for (let row = 0; row < tags.length; row++) {
    if (tags[row] !== TAG.string) continue;
    if (!put(text, textOffsets[row], textOffsets[row + 1], row)) throw misfitAt(column, target, segment, row);
  }
}

/** Allocates 64-bit values, also as halves: a number that is not a BigInt is set faster so. */
function allocateLongs({ column, rows }: TypedSegment) {
  const { buffer } = allocateCounted(column.memory, 8 * rows);
  const longs = new BigInt64Array(buffer);
  const halves = new Int32Array(buffer);
  return {
    longs,
    set: (row: number, value: number | bigint): void => {
      if (typeof value === 'bigint') longs[row] = value;
      else {
        const high = Math.floor(value / 2 ** 32);
        halves[2 * row] = value - high * 2 ** 32;
        halves[2 * row + 1] = high;
      }
    },
  };
}

/** Creates the values of a column of timestamps. */
export function timestampsOf(typed: TypedSegment, unit: TimeUnit): Values {
  const { longs, set } = allocateLongs(typed);
  const perSecond = UNITS_PER_SECOND[unit];
  forEachText(typed, (bytes, start, end, row) => {
    const sign = infinityOf(bytes, start, end);
    const value = sign === 0 ? parseTimestamp(bytes, start, end, perSecond) : BigInt(sign) * INT64_MAX;
    if (value === undefined) return false;
    set(row, value);
    return true;
  });
  return longs;
}

/** Creates the values of a column of dates, in days. A time is allowed only if it is midnight in UTC. */
export function datesOf(typed: TypedSegment): Values {
  const values = new Int32Array(allocateCounted(typed.column.memory, 4 * typed.rows).buffer);
  forEachText(typed, (bytes, start, end, row) => {
    const sign = infinityOf(bytes, start, end);
    const seconds = sign === 0 ? parseTimestamp(bytes, start, end, 1) : undefined;
    const days = sign === 0 ? Number(seconds) / DAY_SECONDS : sign * INT32_MAX;
    values[row] = days;
    return values[row] === days && (sign !== 0 || Math.abs(days) !== INT32_MAX);
  });
  return values;
}

/** Creates the values of a column of times of day. */
export function timesOf(typed: TypedSegment, { unit, bitWidth }: Time): Values {
  const perSecond = UNITS_PER_SECOND[unit];
  const ints = new Int32Array(bitWidth === 32 ? allocateCounted(typed.column.memory, 4 * typed.rows).buffer : []);
  const wide = bitWidth === 32 ? undefined : allocateLongs(typed);
  forEachText(typed, (bytes, start, end, row) => {
    const value = parseTime(bytes, start, end, perSecond);
    if (value === undefined) return false;
    if (wide) wide.set(row, value);
    else ints[row] = value;
    return true;
  });
  return wide?.longs ?? ints;
}

/** Creates the values of a column of durations. */
export function durationsOf(typed: TypedSegment, unit: TimeUnit): Values {
  const { longs } = allocateLongs(typed);
  const nanosPerUnit = nanosecondsOf(unit);
  forEachText(typed, (bytes, start, end, row) => {
    const period = parsePeriod(latin1(bytes, start, end));
    if (period === undefined || period.months !== 0 || period.days !== 0) return false;
    longs[row] = period.nanos / nanosPerUnit;
    return longs[row] * nanosPerUnit === period.nanos;
  });
  return longs;
}

/** Creates the values of a column of intervals of months, days and nanoseconds. */
export function intervalsOf(typed: TypedSegment): Values {
  const { buffer } = allocateCounted(typed.column.memory, 16 * typed.rows);
  const [words, longs] = [new Int32Array(buffer), new BigInt64Array(buffer)];
  forEachText(typed, (bytes, start, end, row) => {
    const period = parsePeriod(latin1(bytes, start, end));
    if (period === undefined) return false;
    const { months, days, nanos } = period;
    words[4 * row] = months;
    words[4 * row + 1] = days;
    longs[2 * row + 1] = nanos;
    return words[4 * row] === months && words[4 * row + 1] === days && longs[2 * row + 1] === nanos;
  });
  return words;
}

function latin1({ buffer, byteOffset }: Uint8Array, start: number, end: number): string {
  return Buffer.from(buffer, byteOffset + start, end - start).toString('latin1');
}

// Parsers of ISO 8601 texts. They read bytes, because most rows of many frames have a timestamp.

const [ZERO, DASH, COLON, DOT, PLUS] = [0x30, 0x2d, 0x3a, 0x2e, 0x2b];

/** A position in a text. `isValid` turns false at the first character that does not fit. */
interface Reader {
  bytes: Uint8Array;
  at: number;
  end: number;
  isValid: boolean;
}

/** Reused by all calls: the parsers are synchronous. */
const reader: Reader = { bytes: new Uint8Array(0), at: 0, end: 0, isValid: true };

function begin(bytes: Uint8Array, start: number, end: number): void {
  reader.bytes = bytes;
  reader.at = start;
  reader.end = end;
  reader.isValid = true;
}

function has(byte: number): boolean {
  if (reader.at >= reader.end || reader.bytes[reader.at] !== byte) return false;
  reader.at++;
  return true;
}

function expect(byte: number): void {
  if (!has(byte)) reader.isValid = false;
}

/** Reads exactly `count` digits. */
function digits(count: number): number {
  let value = 0;
  for (let i = 0; i < count; i++, reader.at++) {
    const digit = reader.at < reader.end ? reader.bytes[reader.at] - ZERO : -1;
    if (digit < 0 || digit > 9) {
      reader.isValid = false;
      return 0;
    }
    value = value * 10 + digit;
  }
  return value;
}

function countDigits(): number {
  let at = reader.at;
  while (at < reader.end && reader.bytes[at] >= ZERO && reader.bytes[at] <= ZERO + 9) at++;
  return at - reader.at;
}

/** Reads a year: four digits, or a sign and five to twelve digits. */
function year(): number {
  const isNegative = has(DASH);
  if (!isNegative && !has(PLUS)) return digits(4);
  const count = countDigits();
  if (count < 5 || count > 12) reader.isValid = false;
  const value = digits(Math.min(count, 12));
  return isNegative ? -value : value;
}

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Reads a date, and returns its days since 1970. */
function daysOfDate(): number {
  const y = year();
  expect(DASH);
  const month = digits(2);
  expect(DASH);
  const day = digits(2);
  const isLeap = y % 4 === 0 && (y % 100 !== 0 || y % 400 === 0);
  if (month < 1 || month > 12 || day < 1 || day > MONTH_DAYS[month - 1] + (month === 2 && isLeap ? 1 : 0)) {
    reader.isValid = false;
  }
  const shifted = month <= 2 ? y - 1 : y;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return (
    era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
  );
}

/** The units of the last fraction of a second. */
let fraction = 0;

/** Reads a time of day, returns its seconds, and sets `fraction`, which has to be exact. */
function secondOfDay(perSecond: number): number {
  const hour = digits(2);
  expect(COLON);
  const minute = digits(2);
  const second = has(COLON) ? digits(2) : 0;
  fraction = has(DOT) ? units(perSecond) : 0;
  if (hour > 24 || minute > 59 || second > 59) reader.isValid = false;
  const seconds = hour * 3600 + minute * 60 + second;
  if (seconds > 86_400 || (seconds === 86_400 && fraction > 0)) reader.isValid = false;
  return seconds;
}

/** Reads the digits after a decimal point as units. Digits that are smaller than a unit have to be zeros. */
function units(perSecond: number): number {
  const count = countDigits();
  if (count === 0) reader.isValid = false;
  let value = 0;
  let unit = perSecond;
  for (let i = 0; i < count; i++) {
    const digit = digits(1);
    unit /= 10;
    if (unit >= 1) value += digit * unit;
    else if (digit !== 0) reader.isValid = false;
  }
  return value;
}

/** Reads a zone, and returns its offset in seconds. A time without a zone is UTC. */
function zone(): number {
  if (reader.at === reader.end || has(0x5a) || has(0x7a)) return 0;
  const isNegative = has(DASH);
  if (!isNegative) expect(PLUS);
  const hour = digits(2);
  const minute = has(COLON) || reader.at < reader.end ? digits(2) : 0;
  if (hour > 23 || minute > 59) reader.isValid = false;
  return (hour * 3600 + minute * 60) * (isNegative ? -1 : 1);
}

/** True if the text is `infinity`; 0 if it is not, else its sign. */
function infinityOf(bytes: Uint8Array, start: number, end: number): -1 | 0 | 1 {
  const isNegative = bytes[start] === DASH;
  const from = isNegative ? start + 1 : start;
  if (end - from !== 8 || bytes[from] !== 0x69) return 0;
  if (Buffer.from(bytes.buffer, bytes.byteOffset + from, 8).toString('latin1') !== 'infinity') return 0;
  return isNegative ? -1 : 1;
}

/**
 * Parses a date, or a date and a time, to units since 1970 in UTC; undefined if it is not exactly one. The ends of the
 * range mean infinity, so a date there does not fit.
 */
function parseTimestamp(bytes: Uint8Array, start: number, end: number, perSecond: number): number | bigint | undefined {
  begin(bytes, start, end);
  const day = daysOfDate();
  let seconds = 0;
  fraction = 0;
  if (reader.at < reader.end) {
    if (!has(0x54) && !has(0x74)) expect(0x20);
    seconds = secondOfDay(perSecond);
    // 24:00 would be written back as the next day.
    if (seconds === 86_400) reader.isValid = false;
    seconds -= zone();
  }
  if (!reader.isValid || reader.at !== reader.end) return undefined;
  const total = (day * 86_400 + seconds) * perSecond + fraction;
  if (Number.isSafeInteger(total)) return total;
  const exact = (BigInt(day) * 86_400n + BigInt(seconds)) * BigInt(perSecond) + BigInt(fraction);
  return exact >= INT64_MAX || exact <= -INT64_MAX - 2n || exact === -INT64_MAX ? undefined : exact;
}

/** Parses a time of day to units since midnight; undefined if it is not exactly one. */
function parseTime(bytes: Uint8Array, start: number, end: number, perSecond: number): number | undefined {
  begin(bytes, start, end);
  const total = secondOfDay(perSecond) * perSecond + fraction;
  return reader.isValid && reader.at === reader.end ? total : undefined;
}

/** A period in months, days and nanoseconds. */
interface Period {
  readonly months: number;
  readonly days: number;
  readonly nanos: bigint;
}

const PERIOD =
  /^P(?:([+-]?\d{1,10})Y)?(?:([+-]?\d{1,10})M)?(?:([+-]?\d{1,10})W)?(?:([+-]?\d{1,10})D)?(?:T(?=.)(?:([+-]?\d{1,19})H)?(?:([+-]?\d{1,19})M)?(?:([+-]?)(\d{1,19})(?:\.(\d{1,9})0*)?S)?)?$/;

/** Parses an ISO 8601 duration whose parts have their own signs; undefined if it is not one. */
function parsePeriod(text: string): Period | undefined {
  const found = PERIOD.exec(text);
  if (found === null || text === 'P') return undefined;
  const [, years = '0', months = '0', weeks = '0', dayCount = '0', hours = '0', minutes = '0'] = found;
  const [sign, seconds = '0', decimals = ''] = found.slice(7);
  const nanosOfSecond = BigInt(seconds) * 1_000_000_000n + BigInt(decimals.padEnd(9, '0'));
  return {
    months: Number(years) * 12 + Number(months),
    days: Number(weeks) * 7 + Number(dayCount),
    nanos: (BigInt(hours) * 60n + BigInt(minutes)) * 60_000_000_000n + (sign === '-' ? -nanosOfSecond : nanosOfSecond),
  };
}
