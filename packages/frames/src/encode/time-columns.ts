import { type Data, DataType, DateUnit, type Interval, IntervalUnit, TimeUnit } from 'apache-arrow';
import type { CellOptions } from './cell-options.ts';
import { type ColumnWriter, quotedColumn } from './cell-writer.ts';
import { wordsOf } from './number-columns.ts';
import { DAY, parts, SPLITS, type UnitsPerSecond } from './split-units.ts';
import { PERIOD_BYTES, TIME_BYTES, writePeriod, writeTimeOfDay } from './write-period.ts';
import { createDateWriter, createTimestampWriter, type Quote, TIMESTAMP_BYTES } from './write-time.ts';

/** The writer of a column of dates, times or periods; undefined where it is none. */
export function createTimeColumn(data: Data, { syntax }: CellOptions): ColumnWriter | undefined {
  const { type } = data;
  const quote = syntax === 'json' ? '"' : '';
  if (DataType.isTimestamp(type)) return timestampColumn(data, type.unit, quote);
  if (DataType.isDate(type)) return type.unit === DateUnit.DAY ? dayColumn(data, quote) : millisColumn(data, quote);
  const column = periodColumn(data);
  return column && syntax === 'json' ? quotedColumn(column) : column;
}

const UNITS_PER_SECOND: Record<TimeUnit, UnitsPerSecond> = {
  [TimeUnit.SECOND]: 1,
  [TimeUnit.MILLISECOND]: 1_000,
  [TimeUnit.MICROSECOND]: 1_000_000,
  [TimeUnit.NANOSECOND]: 1_000_000_000,
};

function timestampColumn(data: Data, unit: TimeUnit, quote: Quote): ColumnWriter {
  const words = wordsOf(data.values);
  const write = createTimestampWriter(UNITS_PER_SECOND[unit], quote);
  return {
    write: (out, at, row) => write(out, at, words[2 * row], words[2 * row + 1]),
    fixedBytes: TIMESTAMP_BYTES,
  };
}

function dayColumn(data: Data, quote: Quote): ColumnWriter {
  const days: Int32Array = data.values;
  const write = createDateWriter(quote);
  return {
    write: (out, at, row) => {
      const day = days[row];
      return write(out, at, day === 0x7fffffff ? Infinity : day === -0x7fffffff ? -Infinity : day);
    },
    fixedBytes: TIMESTAMP_BYTES,
  };
}

/** Dates in milliseconds, each the day it is in. */
function millisColumn(data: Data, quote: Quote): ColumnWriter {
  const words = wordsOf(data.values);
  const write = createDateWriter(quote);
  return {
    write: (out, at, row) => {
      const low = words[2 * row];
      const high = words[2 * row + 1];
      if (low === -1 && high === 0x7fffffff) return write(out, at, Infinity);
      if (low === 1 && high === -0x80000000) return write(out, at, -Infinity);
      SPLITS[1_000](low, high);
      return write(out, at, parts[DAY]);
    },
    fixedBytes: TIMESTAMP_BYTES,
  };
}

/** Times of day, durations and intervals, without quotes. */
function periodColumn(data: Data): ColumnWriter | undefined {
  const { type } = data;
  if (DataType.isDuration(type)) {
    const words = wordsOf(data.values);
    const units = UNITS_PER_SECOND[type.unit];
    return {
      write: (out, at, row) => writePeriod(out, at, 0, 0, words[2 * row], words[2 * row + 1], units),
      fixedBytes: PERIOD_BYTES,
    };
  }
  if (DataType.isTime(type)) return timeOfDayColumn(data, UNITS_PER_SECOND[type.unit]);
  return DataType.isInterval(type) ? intervalColumn(data, type) : undefined;
}

function timeOfDayColumn(data: Data, units: UnitsPerSecond): ColumnWriter {
  const values: Int32Array | BigInt64Array = data.values;
  if (values instanceof Int32Array) {
    return {
      write: (out, at, row) => writeTimeOfDay(out, at, values[row], values[row] >> 31, units),
      fixedBytes: TIME_BYTES,
    };
  }
  const words = wordsOf(values);
  return {
    write: (out, at, row) => writeTimeOfDay(out, at, words[2 * row], words[2 * row + 1], units),
    fixedBytes: TIME_BYTES,
  };
}

function intervalColumn(data: Data, type: Interval): ColumnWriter {
  const words: Int32Array = data.values;
  const fixedBytes = PERIOD_BYTES;
  if (type.unit === IntervalUnit.YEAR_MONTH) {
    return { write: (out, at, row) => writePeriod(out, at, words[row], 0, 0, 0, 1), fixedBytes };
  }
  if (type.unit === IntervalUnit.DAY_TIME) {
    return {
      write: (out, at, row) => {
        const millis = words[2 * row + 1];
        return writePeriod(out, at, 0, words[2 * row], millis, millis >> 31, 1_000);
      },
      fixedBytes,
    };
  }
  return {
    write: (out, at, row) => {
      const i = 4 * row;
      return writePeriod(out, at, words[i], words[i + 1], words[i + 2], words[i + 3], 1_000_000_000);
    },
    fixedBytes,
  };
}
