import {
  DateDay,
  DateMillisecond,
  Duration,
  Interval,
  IntervalUnit,
  Time,
  TimestampMicrosecond,
  TimestampMillisecond,
  TimestampNanosecond,
  TimestampSecond,
  TimeUnit,
} from 'apache-arrow';
import { intervals, longs, numbers } from './column-builders.ts';
import { both, NULL, type SampleCell, sampleColumn, type SampleColumn, text } from './sample-frame.ts';

const MAX = 2n ** 63n - 1n;
const MIN = -(2n ** 63n);

function texts<V>(...values: readonly (readonly [V, string])[]): (readonly [V | null, SampleCell])[] {
  return [...values.map(([value, expected]) => [value, text(expected)] as const), [null, NULL]];
}

/** Dates: in CSV without a time, so they read back as dates. */
function dayTexts<V>(...values: readonly (readonly [V, string])[]): (readonly [V | null, SampleCell])[] {
  const cellOf = (day: string): SampleCell => (/\d$/.test(day) ? both(`"${day}T00:00:00.000Z"`, day) : text(day));
  return [...values.map(([value, day]) => [value, cellOf(day)] as const), [null, NULL]];
}

const endless: readonly (readonly [bigint, string])[] = [
  [MAX, 'infinity'],
  [MIN + 1n, '-infinity'],
];

/** The words of an interval of months, days and nanoseconds. */
function monthDayNano(months: number, days: number, nanos: bigint): number[] {
  return [months, days, Number(BigInt.asIntN(32, nanos)), Number(nanos >> 32n)];
}

const timestamps: Readonly<Record<string, SampleColumn>> = {
  'timestamp s': sampleColumn(
    'TIMESTAMP',
    new TimestampSecond(),
    longs,
    texts(
      [1704164645n, '2024-01-02T03:04:05.000000Z'],
      [0n, '1970-01-01T00:00:00.000000Z'],
      [MAX - 1n, '+292277026596-12-04T15:30:06.000000Z'],
      [MIN, '-292277022657-01-27T08:29:52.000000Z'],
      ...endless,
    ),
  ),
  'timestamp ms': sampleColumn(
    'TIMESTAMP',
    new TimestampMillisecond(),
    longs,
    texts(
      [1704164645678n, '2024-01-02T03:04:05.678000Z'],
      [-1n, '1969-12-31T23:59:59.999000Z'],
      [MAX - 1n, '+292278994-08-17T07:12:55.806000Z'],
      [MIN, '-292275055-05-16T16:47:04.192000Z'],
      ...endless,
    ),
  ),
  'timestamp µs': sampleColumn(
    'TIMESTAMP',
    new TimestampMicrosecond(),
    longs,
    texts(
      [1704164645678901n, '2024-01-02T03:04:05.678901Z'],
      [-62167219200000001n, '-000001-12-31T23:59:59.999999Z'],
      [253402300800000000n, '+010000-01-01T00:00:00.000000Z'],
      [MAX - 1n, '+294247-01-10T04:00:54.775806Z'],
      [MIN, '-290308-12-21T19:59:05.224192Z'],
      ...endless,
    ),
  ),
  'timestamp µs with a zone': sampleColumn(
    'TIMESTAMP',
    new TimestampMicrosecond('Europe/Vienna'),
    longs,
    texts([1704164645678901n, '2024-01-02T03:04:05.678901Z'], [951782400000000n, '2000-02-29T00:00:00.000000Z']),
  ),
  'timestamp ns': sampleColumn(
    'TIMESTAMP_NS',
    new TimestampNanosecond('UTC'),
    longs,
    texts(
      [1704164645678901234n, '2024-01-02T03:04:05.678901234Z'],
      [-1n, '1969-12-31T23:59:59.999999999Z'],
      [MAX - 1n, '2262-04-11T23:47:16.854775806Z'],
      [MIN, '1677-09-21T00:12:43.145224192Z'],
      ...endless,
    ),
  ),
};

const dates: Readonly<Record<string, SampleColumn>> = {
  date32: sampleColumn(
    'DATE',
    new DateDay(),
    numbers,
    dayTexts(
      [19724, '2024-01-02'],
      [-1, '1969-12-31'],
      [-719528, '0000-01-01'],
      [2932897, '+010000-01-01'],
      [2147483646, '+5881580-07-10'],
      [-2147483648, '-5877641-06-23'],
      [2147483647, 'infinity'],
      [-2147483647, '-infinity'],
    ),
  ),
  date64: sampleColumn(
    'DATE',
    new DateMillisecond(),
    longs,
    dayTexts(
      [1704153600000n, '2024-01-02'],
      [86_400_000n, '1970-01-02'],
      [-86_400_000n, '1969-12-31'],
      [2147483647n * 86_400_000n, '+5881580-07-11'],
      [MAX - (MAX % 86_400_000n), '+292278994-08-17'],
      [MIN - (MIN % 86_400_000n), '-292275055-05-17'],
      ...endless,
    ),
  ),
};

const times: Readonly<Record<string, SampleColumn>> = {
  'time32 s': sampleColumn(
    'TIME',
    new Time(TimeUnit.SECOND, 32),
    numbers,
    texts(
      [11045, '03:04:05.000000'],
      [86400, '24:00:00.000000'],
      [-1, '-00:00:01.000000'],
      [2147483647, '596523:14:07.000000'],
    ),
  ),
  'time32 ms': sampleColumn(
    'TIME',
    new Time(TimeUnit.MILLISECOND, 32),
    numbers,
    texts([11045678, '03:04:05.678000'], [0, '00:00:00.000000'], [-2147483648, '-596:31:23.648000']),
  ),
  'time64 µs': sampleColumn(
    'TIME',
    new Time(TimeUnit.MICROSECOND, 64),
    longs,
    texts([11045678901n, '03:04:05.678901'], [86399999999n, '23:59:59.999999'], [MAX, '2562047788:00:54.775807']),
  ),
  'time64 ns': sampleColumn(
    'TIME',
    new Time(TimeUnit.NANOSECOND, 64),
    longs,
    texts([11045678901234n, '03:04:05.678901234'], [1n, '00:00:00.000000001'], [MIN, '-2562047:47:16.854775808']),
  ),
};

const durations: Readonly<Record<string, SampleColumn>> = {
  'duration s': sampleColumn(
    'DURATION',
    new Duration(TimeUnit.SECOND),
    longs,
    texts(
      [0n, 'PT0S'],
      [3723n, 'PT1H2M3S'],
      [-1n, 'PT-1S'],
      [86400n, 'PT24H'],
      [MAX, 'PT2562047788015215H30M7S'],
      [MIN, 'PT-2562047788015215H-30M-8S'],
    ),
  ),
  'duration ms': sampleColumn(
    'DURATION',
    new Duration(TimeUnit.MILLISECOND),
    longs,
    texts(
      [3500n, 'PT3.5S'],
      [-3_723_500n, 'PT-1H-2M-3.5S'],
      [-1n, 'PT-0.001S'],
      [MAX, 'PT2562047788015H12M55.807S'],
      [MIN, 'PT-2562047788015H-12M-55.808S'],
    ),
  ),
  'duration µs': sampleColumn(
    'DURATION',
    new Duration(TimeUnit.MICROSECOND),
    longs,
    texts([1n, 'PT0.000001S'], [-60_000_000n, 'PT-1M'], [MAX, 'PT2562047788H54.775807S']),
  ),
  'duration ns': sampleColumn(
    'DURATION',
    new Duration(TimeUnit.NANOSECOND),
    longs,
    texts(
      [1_000_000_000n, 'PT1S'],
      [-1n, 'PT-0.000000001S'],
      [MAX, 'PT2562047H47M16.854775807S'],
      [MIN, 'PT-2562047H-47M-16.854775808S'],
    ),
  ),
};

const periods: Readonly<Record<string, SampleColumn>> = {
  'interval of months': sampleColumn(
    'INTERVAL',
    new Interval(IntervalUnit.YEAR_MONTH),
    intervals,
    texts(
      [[14], 'P1Y2M'],
      [[-14], 'P-1Y-2M'],
      [[0], 'PT0S'],
      [[12], 'P1Y'],
      [[-1], 'P-1M'],
      [[2147483647], 'P178956970Y7M'],
      [[-2147483648], 'P-178956970Y-8M'],
    ),
  ),
  'interval of days and milliseconds': sampleColumn(
    'INTERVAL',
    new Interval(IntervalUnit.DAY_TIME),
    intervals,
    texts(
      [[1, 0], 'P1D'],
      [[-1, 3_600_000], 'P-1DT1H'],
      [[0, -1500], 'PT-1.5S'],
      [[0, 0], 'PT0S'],
      [[2147483647, -2147483648], 'P2147483647DT-596H-31M-23.648S'],
    ),
  ),
  'interval of months, days and nanoseconds': sampleColumn(
    'INTERVAL',
    new Interval(IntervalUnit.MONTH_DAY_NANO),
    intervals,
    texts(
      [monthDayNano(14, 3, 14_706_500_000_000n), 'P1Y2M3DT4H5M6.5S'],
      [monthDayNano(-1, 1, -1n), 'P-1M1DT-0.000000001S'],
      [monthDayNano(0, 0, 0n), 'PT0S'],
      [monthDayNano(0, -2147483648, MIN), 'P-2147483648DT-2562047H-47M-16.854775808S'],
      [monthDayNano(-2147483648, 2147483647, MAX), 'P-178956970Y-8M2147483647DT2562047H47M16.854775807S'],
    ),
  ),
};

/** Dates, times and periods. */
export const TIME_COLUMNS: Readonly<Record<string, SampleColumn>> = {
  ...timestamps,
  ...dates,
  ...times,
  ...durations,
  ...periods,
};
