import { writeBytes } from './cell-writer.ts';
import { DAY, parts, SECOND, SPLITS, UNITS, type UnitsPerSecond } from './split-units.ts';
import { DIGIT_PAIRS, writePadded, writePair } from './write-number.ts';

/** The most bytes a timestamp takes: quotes, an expanded year of 12 digits with its sign, nine decimals. */
export const TIMESTAMP_BYTES = 44;

const ENCODER = new TextEncoder();

/** What stands around a time: a quote, or nothing. The writers put it there themselves, which spares a call a cell. */
export type Quote = '"' | '';

type TimestampWriter = (out: Uint8Array, at: number, low: number, high: number) => number;

/** Writes a timestamp, given as the two words of a 64-bit count of units since 1970, in UTC. */
export function createTimestampWriter(unitsPerSecond: UnitsPerSecond, quote: Quote): TimestampWriter {
  const { infinity, minusInfinity } = endlessTexts(quote);
  const endBytes = 1 + quote.length;
  const split = SPLITS[unitsPerSecond];
  const microsPerUnit = 1_000_000 / unitsPerSecond;
  const writeDay = createDayWriter(quote);
  // Most rows are of the minute of the row before (of its second, for nanoseconds). Its text up to the seconds,
  // `"2024-01-02T03:04:`, and its first moment are kept, so that such a row takes one subtraction of 32-bit integers.
  const spanUnits = unitsPerSecond === 1_000_000_000 ? unitsPerSecond : 60 * unitsPerSecond;
  const prefix = new Uint8Array(TIMESTAMP_BYTES);
  const prefixView = new DataView(prefix.buffer);
  let prefixLength = 0;
  let firstSecond = 0;
  let firstLow = 0;
  let firstHigh = 0;
  let lastOut: Uint8Array = prefix;
  let view: DataView = prefixView;

  /** Makes the span of this moment the one that is kept; returns the units since it began. */
  function setSpan(low: number, high: number): number {
    split(low >>> 0, high);
    const second = parts[SECOND];
    const minute = Math.floor(second / 60);
    const hour = Math.floor(minute / 60);
    const to = writeDay(prefix, 0, parts[DAY]);
    writePair(prefix, to, hour);
    prefix[to + 2] = 58;
    writePair(prefix, to + 3, minute - hour * 60);
    prefix[to + 5] = 58;
    prefixLength = to + 6;
    const seconds = second - minute * 60;
    firstSecond = spanUnits === unitsPerSecond ? seconds : 0;
    const units = (seconds - firstSecond) * unitsPerSecond + parts[UNITS];
    firstLow = (low - units) | 0;
    firstHigh = low >>> 0 < units ? high - 1 : high;
    return units;
  }

  setSpan(0, 0);
  return (out, at, low, high) => {
    let units = (low - firstLow) | 0;
    if (high !== firstHigh || units < 0 || units >= spanUnits) {
      if (low === -1 && high === 0x7fffffff) return writeBytes(out, at, infinity);
      if (low === 1 && high === -0x80000000) return writeBytes(out, at, minusInfinity);
      units = setSpan(low, high) | 0;
    }
    if (out !== lastOut) {
      lastOut = out;
      view = new DataView(out.buffer, out.byteOffset, out.byteLength);
    }
    view.setInt32(at, prefixView.getInt32(0));
    view.setInt32(at + 4, prefixView.getInt32(4));
    view.setInt32(at + 8, prefixView.getInt32(8));
    view.setInt32(at + 12, prefixView.getInt32(12));
    view.setInt32(at + 16, prefixView.getInt32(16));
    if (prefixLength > 20) writeBytes(out, at, prefix.subarray(0, prefixLength));
    const to = at + prefixLength;
    const seconds = (units / unitsPerSecond) | 0;
    const rest = units - seconds * unitsPerSecond;
    view.setInt16(to, DIGIT_PAIRS[firstSecond + seconds]);
    out[to + 2] = 46;
    const micros = microsPerUnit < 1 ? (rest / 1000) | 0 : (rest * microsPerUnit) | 0;
    const upper = (micros / 10_000) | 0;
    const middle = ((micros - upper * 10_000) / 100) | 0;
    view.setInt16(to + 3, DIGIT_PAIRS[upper]);
    view.setInt16(to + 5, DIGIT_PAIRS[middle]);
    view.setInt16(to + 7, DIGIT_PAIRS[micros - upper * 10_000 - middle * 100]);
    const end = microsPerUnit < 1 ? writePadded(out, to + 9, rest - micros * 1000, 3) : to + 9;
    out[end] = 90;
    // Behind a time without quotes this byte is overwritten by what follows.
    out[end + 1] = 34;
    return end + endBytes;
  };
}

function endlessTexts(quote: Quote): { infinity: Uint8Array; minusInfinity: Uint8Array } {
  return {
    infinity: ENCODER.encode(`${quote}infinity${quote}`),
    minusInfinity: ENCODER.encode(`${quote}-infinity${quote}`),
  };
}

/** Writes a day as the timestamp of its midnight with three decimals, the way time-series databases print dates. */
export function createDateWriter(quote: Quote): (out: Uint8Array, at: number, date: number) => number {
  const { infinity, minusInfinity } = endlessTexts(quote);
  const midnight = ENCODER.encode(`00:00:00.000Z${quote}`);
  const writeDay = createDayWriter(quote);
  return (out, at, date) => {
    if (date === Infinity) return writeBytes(out, at, infinity);
    if (date === -Infinity) return writeBytes(out, at, minusInfinity);
    return writeBytes(out, writeDay(out, at, date), midnight);
  };
}

/** Writes a day, given as days since 1970, with the quote before and the T behind it: `"2024-01-02T`. */
function createDayWriter(quote: Quote): (out: Uint8Array, at: number, date: number) => number {
  // The day of one row is often the one of the row before.
  let lastDate = 0;
  let { year, month, day } = calendarDay(lastDate);
  return (out, at, date) => {
    if (date !== lastDate) {
      lastDate = date;
      ({ year, month, day } = calendarDay(date));
    }
    out[at] = 34;
    const to = writeYear(out, at + quote.length, year);
    out[to] = 45;
    writePair(out, to + 1, month);
    out[to + 3] = 45;
    writePair(out, to + 4, day);
    out[to + 6] = 84;
    return to + 7;
  };
}

/** Writes four digits, or for the years that have more the expanded form of ISO 8601. */
function writeYear(out: Uint8Array, at: number, year: number): number {
  if (year >= 0 && year <= 9999) {
    const century = (year / 100) | 0;
    writePair(out, at, century);
    return writePair(out, at + 2, year - century * 100);
  }
  return writeBytes(out, at, ENCODER.encode(`${year < 0 ? '-' : '+'}${String(Math.abs(year)).padStart(6, '0')}`));
}

interface CalendarDay {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** A day since 1970 in the calendar. Not by `Date`, which ends at the year 275760. */
function calendarDay(date: number): CalendarDay {
  const era = Math.floor((date + 719_468) / 146_097);
  const dayOfEra = date + 719_468 - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}
