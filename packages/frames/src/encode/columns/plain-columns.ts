import {
  type Data,
  DataType,
  DateUnit,
  type Decimal,
  type Float,
  type Int,
  type Interval,
  IntervalUnit,
  Precision,
  TimeUnit,
} from 'apache-arrow';
import { valueBytes, valuesOf } from '../../columns/arrow-data.ts';
import { type Column, putBits, setField } from './column.ts';
import {
  IS_CSV,
  IS_QUOTED,
  KIND,
  KIND_BOOL,
  KIND_DAY,
  KIND_DAY_MILLIS,
  KIND_DECIMAL,
  KIND_DURATION,
  KIND_FLOAT16,
  KIND_FLOAT32,
  KIND_FLOAT64,
  KIND_INT16,
  KIND_INT32,
  KIND_INT64,
  KIND_INT8,
  KIND_MILLIS,
  KIND_MONTH_DAY_NANOS,
  KIND_MONTHS,
  KIND_NULL,
  KIND_TIME32,
  KIND_TIME64,
  KIND_TIMESTAMP,
  KIND_UINT16,
  KIND_UINT32,
  KIND_UINT64,
  KIND_UINT8,
  KIND_UUID,
  SCALE,
  STRIDE,
  UNITS,
  VALUES,
} from '../kernel/kernel-layout.ts';

/** The maximum bytes of a 64-bit integer: 19 digits and a sign, or 20 digits. */
const INT64_BYTES = 20;
const NULL_BYTES = 4;
/** The maximum bytes of a float: 17 digits, sign, point and exponent. */
const FLOAT_BYTES = 25;
const FALSE_BYTES = 5;
const UUID_BYTES = 36;
/** The maximum bytes of a timestamp: quotes, a year of 12 digits with its sign, nine decimals. */
const TIMESTAMP_BYTES = 44;
/**
 * The maximum bytes of a period: seven parts with a sign and a letter each, the hours of 2^63 seconds, nine decimals.
 */
const PERIOD_BYTES = 80;
/** The maximum bytes of a time of day, if it has the hours of 2^63 seconds. */
const TIME_BYTES = 40;
/** The digits of an integer by its bits, and its sign. */
const DIGIT_BYTES: Readonly<Record<number, number>> = { 32: 11, 64: 20, 128: 40, 256: 78 };

/** The layout of fixed-width values, for the kernel. */
interface Plain {
  readonly kind: number;
  /** The bytes of a value. */
  readonly width: number;
  /** The maximum bytes of a cell. */
  readonly fixedBytes: number;
  /** Further fields of the descriptor. */
  readonly fields?: readonly (readonly [field: number, value: number])[];
}

/** Creates a column of fixed-width values. */
function plainColumn(data: Data, { kind, width, fixedBytes, fields = [] }: Plain): Column {
  const { buffer, byteOffset, byteLength } = valuesOf(data);
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  return {
    fixedBytes,
    loadedBytes: (from, to) => width * (to - from),
    load: (kernel, place, from, to) => {
      setField(kernel, place, KIND, kind);
      setField(kernel, place, VALUES, kernel.put(bytes.subarray(width * from, width * to), width * (to - from)));
      for (const [field, value] of fields) setField(kernel, place, field, value);
    },
  };
}

/** Creates a column with only nulls. */
export function nullColumn(isCsv: boolean): Column {
  return {
    fixedBytes: NULL_BYTES,
    // They take no memory, but a list of very many must not count as nothing.
    loadedBytes: (from, to) => to - from,
    load: (kernel, place) => {
      setField(kernel, place, KIND, KIND_NULL);
      setField(kernel, place, IS_CSV, isCsv ? 1 : 0);
    },
  };
}

/** Creates a column of booleans, one bit each. */
export function booleanColumn(data: Data): Column {
  const bits = valueBytes(data);
  const { offset } = data;
  return {
    fixedBytes: FALSE_BYTES,
    loadedBytes: (from, to) => (to - from) >> 3,
    load: (kernel, place, from, to) => {
      setField(kernel, place, KIND, KIND_BOOL);
      setField(kernel, place, VALUES, putBits(kernel, bits, offset + from, offset + to));
      setField(kernel, place, STRIDE, (offset + from) & 7);
    },
  };
}

const SIGNED_KINDS: Readonly<Record<number, number>> = { 8: KIND_INT8, 16: KIND_INT16, 32: KIND_INT32, 64: KIND_INT64 };
const UNSIGNED_KINDS: Readonly<Record<number, number>> = {
  8: KIND_UINT8,
  16: KIND_UINT16,
  32: KIND_UINT32,
  64: KIND_UINT64,
};

/** Creates a column of integers of 8 to 64 bits. */
export function integerColumn(data: Data, { isSigned, bitWidth }: Int): Column {
  const kinds = isSigned ? SIGNED_KINDS : UNSIGNED_KINDS;
  return plainColumn(data, { kind: kinds[bitWidth], width: bitWidth / 8, fixedBytes: INT64_BYTES });
}

const FLOATS: Readonly<Record<Precision, readonly [kind: number, width: number]>> = {
  [Precision.HALF]: [KIND_FLOAT16, 2],
  [Precision.SINGLE]: [KIND_FLOAT32, 4],
  [Precision.DOUBLE]: [KIND_FLOAT64, 8],
};

/** Creates a column of floats of 16 to 64 bits. */
export function floatColumn(data: Data, { precision }: Float, isCsv: boolean): Column {
  const [kind, width] = FLOATS[precision];
  return plainColumn(data, { kind, width, fixedBytes: FLOAT_BYTES, fields: [[IS_CSV, isCsv ? 1 : 0]] });
}

/** Creates a column of decimals of 32 to 256 bits, without quotes. */
export function decimalColumn(data: Data, { bitWidth, scale }: Decimal): Column {
  const width = bitWidth / 8;
  return plainColumn(data, {
    kind: KIND_DECIMAL,
    width,
    // In addition to the digits: the point, the zero before it, and the zeros of the scale.
    fixedBytes: DIGIT_BYTES[bitWidth] + 2 + Math.abs(scale),
    fields: [
      [STRIDE, width],
      [SCALE, scale],
    ],
  });
}

/** Creates a column of UUIDs from 16 bytes each, without quotes. */
export function uuidColumn(data: Data): Column {
  return plainColumn(data, { kind: KIND_UUID, width: 16, fixedBytes: UUID_BYTES });
}

const UNITS_PER_SECOND: Readonly<Record<TimeUnit, number>> = {
  [TimeUnit.SECOND]: 1,
  [TimeUnit.MILLISECOND]: 1_000,
  [TimeUnit.MICROSECOND]: 1_000_000,
  [TimeUnit.NANOSECOND]: 1_000_000_000,
};

/** Creates a column of timestamps, with or without quotes. */
export function timestampColumn(data: Data, unit: TimeUnit, isQuoted: boolean): Column {
  return plainColumn(data, {
    kind: KIND_TIMESTAMP,
    width: 8,
    fixedBytes: TIMESTAMP_BYTES,
    fields: [
      [UNITS, UNITS_PER_SECOND[unit]],
      [IS_QUOTED, isQuoted ? 1 : 0],
    ],
  });
}

/** Creates a column of dates, times of day, durations or intervals, without quotes; undefined for other types. */
export function createTimeColumn(data: Data, isCsv: boolean): Column | undefined {
  const { type } = data;
  if (DataType.isDate(type)) {
    const isDay = type.unit === DateUnit.DAY;
    return plainColumn(data, {
      kind: isDay ? KIND_DAY : KIND_MILLIS,
      width: isDay ? 4 : 8,
      fixedBytes: TIMESTAMP_BYTES,
      fields: [[IS_CSV, isCsv ? 1 : 0]],
    });
  }
  if (DataType.isTime(type)) {
    const isShort = type.bitWidth === 32;
    return plainColumn(data, {
      kind: isShort ? KIND_TIME32 : KIND_TIME64,
      width: isShort ? 4 : 8,
      fixedBytes: TIME_BYTES,
      fields: [[UNITS, UNITS_PER_SECOND[type.unit]]],
    });
  }
  if (DataType.isDuration(type)) {
    const fields = [[UNITS, UNITS_PER_SECOND[type.unit]]] as const;
    return plainColumn(data, { kind: KIND_DURATION, width: 8, fixedBytes: PERIOD_BYTES, fields });
  }
  return DataType.isInterval(type) ? intervalColumn(data, type) : undefined;
}

const INTERVALS: Readonly<Record<IntervalUnit, readonly [kind: number, width: number, unitsPerSecond: number]>> = {
  [IntervalUnit.YEAR_MONTH]: [KIND_MONTHS, 4, 1],
  [IntervalUnit.DAY_TIME]: [KIND_DAY_MILLIS, 8, 1_000],
  [IntervalUnit.MONTH_DAY_NANO]: [KIND_MONTH_DAY_NANOS, 16, 1_000_000_000],
};

function intervalColumn(data: Data, { unit }: Interval): Column {
  const [kind, width, unitsPerSecond] = INTERVALS[unit];
  return plainColumn(data, { kind, width, fixedBytes: PERIOD_BYTES, fields: [[UNITS, unitsPerSecond]] });
}
