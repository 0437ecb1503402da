import { type Time, TimeUnit } from 'apache-arrow';
import type { Values } from '../../columns/column-data.ts';
import { infinityOf, parsePeriod, parseTime, parseTimestamp } from './iso-times.ts';
import { TAG, type TypedSegment } from './json-column.ts';
import { allocateCounted } from './json-memory.ts';
import { misfitAt, requireKinds } from './misfit.ts';

const UNITS_PER_SECOND: Readonly<Record<TimeUnit, number>> = {
  [TimeUnit.SECOND]: 1,
  [TimeUnit.MILLISECOND]: 1_000,
  [TimeUnit.MICROSECOND]: 1_000_000,
  [TimeUnit.NANOSECOND]: 1_000_000_000,
};

const DAY_SECONDS = 86_400;
const INT32_MAX = 2 ** 31 - 1;
const INT64_MAX = 2n ** 63n - 1n;

/** Calls `put` for each string in UTF-8, which returns whether it fits. */
function forEachText(
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
  const nanosPerUnit = BigInt(1_000_000_000 / UNITS_PER_SECOND[unit]);
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
