import { writePadded, writePair } from './write-number.ts';

/** The most bytes a timestamp takes: quotes, an expanded year of 12 digits with its sign, nine decimals. */
export const TIMESTAMP_BYTES = 44;

/** Units of Arrow timestamps, as fractions of a second. */
export type UnitsPerSecond = 1 | 1_000 | 1_000_000 | 1_000_000_000;

const DAY_SECONDS = 86_400;
const INFINITY = new TextEncoder().encode('"infinity"');
const MINUS_INFINITY = new TextEncoder().encode('"-infinity"');

/** Writes a timestamp, given as the two words of a 64-bit count of units since 1970, as a JSON string in UTC. */
export function createTimestampWriter(
  unitsPerSecond: UnitsPerSecond,
): (out: Uint8Array, at: number, low: number, high: number) => number {
  const split = SPLITS[unitsPerSecond];
  const microsPerUnit = 1_000_000 / unitsPerSecond;
  // The text up to the seconds, `"2024-01-02T03:04:`, kept from one row to the next: they are often near each other.
  let prefix = new Uint8Array(0);
  let prefixDay = Number.NaN;
  let prefixMinute = -1;
  return (out, at, low, high) => {
    if (low === -1 && high === 0x7fffffff) return copy(out, at, INFINITY);
    if (low === 1 && high === -0x80000000) return copy(out, at, MINUS_INFINITY);
    split(low >>> 0, high);
    const second = parts[SECOND] | 0;
    const minute = (second / 60) | 0;
    if (parts[DAY] !== prefixDay) {
      prefixDay = parts[DAY];
      prefixMinute = -1;
      prefix = new TextEncoder().encode(`"${toIsoDay(prefixDay)}T00:00:`);
    }
    if (minute !== prefixMinute) {
      prefixMinute = minute;
      const hour = (minute / 60) | 0;
      writePair(prefix, prefix.length - 6, hour);
      writePair(prefix, prefix.length - 3, minute - hour * 60);
    }
    for (let i = 0; i < prefix.length; i++) out[at + i] = prefix[i];
    let to = writePair(out, at + prefix.length, second - minute * 60);
    out[to++] = 46;
    if (microsPerUnit < 1) {
      to = writePadded(out, to, parts[UNITS], 9);
    } else {
      const micros = (parts[UNITS] * microsPerUnit) | 0;
      const upper = (micros / 10_000) | 0;
      const middle = ((micros - upper * 10_000) / 100) | 0;
      to = writePair(out, to, upper);
      to = writePair(out, to, middle);
      to = writePair(out, to, micros - upper * 10_000 - middle * 100);
    }
    out[to] = 90;
    out[to + 1] = 34;
    return to + 2;
  };
}

/** Writes a day as the timestamp of its midnight with three decimals, the way time-series databases print dates. */
export function createDateWriter(): (out: Uint8Array, at: number, date: number) => number {
  let text = new Uint8Array(0);
  let textDate = Number.NaN;
  return (out, at, date) => {
    if (date === 0x7fffffff) return copy(out, at, INFINITY);
    if (date === -0x7fffffff) return copy(out, at, MINUS_INFINITY);
    if (date !== textDate) {
      textDate = date;
      text = new TextEncoder().encode(`"${toIsoDay(date)}T00:00:00.000Z"`);
    }
    return copy(out, at, text);
  };
}

/** The day as ISO 8601 text. Its own calendar, because `Date` ends at the year 275760. */
function toIsoDay(date: number): string {
  const era = Math.floor((date + 719_468) / 146_097);
  const dayOfEra = date + 719_468 - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const dayOfMonth = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return `${isoYear(year)}-${String(month).padStart(2, '0')}-${String(dayOfMonth).padStart(2, '0')}`;
}

function isoYear(year: number): string {
  if (year >= 0 && year <= 9999) return String(year).padStart(4, '0');
  return `${year < 0 ? '-' : '+'}${String(Math.abs(year)).padStart(6, '0')}`;
}

// What a split leaves behind, in a typed array so that no number is boxed for each cell.
const parts = new Float64Array(3);
const DAY = 0;
const SECOND = 1;
const UNITS = 2;

/** Splits `high * 2^32 + low` into day, second of the day and units left over; every product stays below 2^53. */
const SPLITS: Record<UnitsPerSecond, (low: number, high: number) => void> = {
  1: (low, high) => {
    parts[UNITS] = 0;
    splitDay(high * 49_710, high * 23_296 + low);
  },
  1_000: (low, high) => {
    const part = high * 296 + low;
    const carry = Math.floor(part / 1_000);
    parts[UNITS] = part - carry * 1_000;
    splitDay(high * 49, high * 61_367 + carry);
  },
  1_000_000: (low, high) => {
    const part = high * 967_296 + low;
    const carry = Math.floor(part / 1_000_000);
    parts[UNITS] = part - carry * 1_000_000;
    splitDay(0, high * 4294 + carry);
  },
  1_000_000_000: (low, high) => {
    const upper = high >> 16;
    const part = upper * 976_710_656 + (high & 0xffff) * 294_967_296 + low;
    const carry = Math.floor(part / 1_000_000_000);
    parts[UNITS] = part - carry * 1_000_000_000;
    splitDay(0, high * 4 + upper * 19_330 + carry);
  },
};

function splitDay(days: number, seconds: number): void {
  const more = Math.floor(seconds / DAY_SECONDS);
  parts[DAY] = days + more;
  parts[SECOND] = seconds - more * DAY_SECONDS;
}

function copy(out: Uint8Array, at: number, bytes: Uint8Array): number {
  out.set(bytes, at);
  return at + bytes.length;
}
