const MAX_LONG = 2n ** 63n - 1n;
const DAY_S = 86_400n;
/** The units of Arrow's times: seconds, milliseconds, microseconds, nanoseconds. */
const PER_SECOND = [1n, 1000n, 1_000_000n, 1_000_000_000n] as const;

/** The index of a unit in Arrow: 0 seconds, 1 milliseconds, 2 microseconds, 3 nanoseconds. */
export type TimeUnitIndex = 0 | 1 | 2 | 3;

/** True if a timestamp is one of the infinities. */
export function isInfinite(value: bigint): boolean {
  return value === MAX_LONG || value === -MAX_LONG;
}

/** Returns the text of a timestamp: UTC, six digits, nine for nanoseconds. */
export function timestampText(value: bigint, unit: TimeUnitIndex): string {
  if (isInfinite(value)) return infinityText(value > 0n);
  if (unit === 2 && value <= MAX_SAFE_MICROS && value >= -MAX_SAFE_MICROS) return microsText(Number(value));
  const day = floorDivide(value, DAY_S * PER_SECOND[unit]);
  return `${dayText(day)}T${timeText(value - day * DAY_S * PER_SECOND[unit], unit)}Z`;
}

function infinityText(isPositive: boolean): string {
  return isPositive ? 'infinity' : '-infinity';
}

/** Returns the text of a date, given in days since 1970. */
function dateText(day: bigint): string {
  return `${dayText(day)}T00:00:00.000Z`;
}

/** Returns the text of a date32 value, whose extremes are the infinities. */
export function date32Text(day: number): string {
  return Math.abs(day) === 2_147_483_647 ? infinityText(day > 0) : dateText(BigInt(day));
}

/** Returns the text of a date64 value, in milliseconds since 1970. */
export function date64Text(ms: bigint): string {
  return isInfinite(ms) ? infinityText(ms > 0n) : dateText(floorDivide(ms, DAY_S * 1000n));
}

/** Returns the text of a time of day: six digits, nine for nanoseconds. */
export function timeText(value: bigint, unit: TimeUnitIndex): string {
  const { sign, second, fraction } = clockOf(value, unit);
  return `${sign}${clockText(second)}.${fraction.padEnd(6, '0')}`;
}

/** Returns a duration in ISO 8601. Below zero every part has the sign. */
export function durationText(value: bigint, unit: TimeUnitIndex): string {
  return periodText(0, 0, value, unit);
}

/** Returns months, days and a time in ISO 8601. Every part has its own sign. */
export function periodText(months: number, days: number, time: bigint, unit: TimeUnitIndex): string {
  const years = Math.trunc(months / 12);
  const date = `${part(years, 'Y')}${part(months - years * 12, 'M')}${part(days, 'D')}`;
  const clock = clockParts(time, unit);
  if (clock === '') return date === '' ? 'PT0S' : `P${date}`;
  return `P${date}T${clock}`;
}

function clockParts(time: bigint, unit: TimeUnitIndex): string {
  const { sign, second, fraction } = clockOf(time, unit);
  const decimals = fraction.replace(/0+$/, '');
  const rest = `${second % 60n}${decimals === '' ? '' : `.${decimals}`}`;
  const parts = [
    [second / 3600n, 'H'],
    [(second / 60n) % 60n, 'M'],
  ] as const;
  const text = parts.map(([count, letter]) => (count === 0n ? '' : `${sign}${count}${letter}`)).join('');
  return rest === '0' ? text : `${text}${sign}${rest}S`;
}

const part = (count: number, letter: string): string => (count === 0 ? '' : `${count}${letter}`);

const MAX_SAFE_MICROS = BigInt(Number.MAX_SAFE_INTEGER);
const MINUTE_US = 60_000_000;
let lastMinute = Number.NaN;
let lastMinuteText = '';

/** The rows of a time series share their minutes: the text of the last one is kept. */
function microsText(micros: number): string {
  const minute = Math.floor(micros / MINUTE_US);
  if (minute !== lastMinute) {
    const day = Math.floor(minute / 1440);
    const ofDay = minute - day * 1440;
    lastMinuteText = `${dayText(BigInt(day))}T${two(Math.floor(ofDay / 60))}:${two(ofDay % 60)}`;
    lastMinute = minute;
  }
  const rest = micros - minute * MINUTE_US;
  const second = Math.floor(rest / 1_000_000);
  return `${lastMinuteText}:${two(second)}.${String(rest - second * 1_000_000).padStart(6, '0')}Z`;
}

/** Hours, minutes and seconds; the hours may have more than two digits. */
function clockText(second: bigint): string {
  const minute = second / 60n;
  return `${String(minute / 60n).padStart(2, '0')}:${two(minute % 60n)}:${two(second % 60n)}`;
}

/** Returns the sign of a time, its whole seconds, and the digits after them. */
function clockOf(time: bigint, unit: TimeUnitIndex): { sign: string; second: bigint; fraction: string } {
  const size = time < 0n ? -time : time;
  const second = size / PER_SECOND[unit];
  const fraction = unit === 0 ? '' : String(size % PER_SECOND[unit]).padStart(unit * 3, '0');
  return { sign: time < 0n ? '-' : '', second, fraction };
}

/** The days `Date` can show. */
const MAX_DATE_DAY = 100_000_000n;

/** Returns year, month and day of a day since 1970, in ISO 8601; years outside 0000 to 9999 in expanded form. */
function dayText(day: bigint): string {
  if (day <= MAX_DATE_DAY && day >= -MAX_DATE_DAY) {
    const text = new Date(Number(day) * 86_400_000).toISOString();
    return text.slice(0, text.indexOf('T'));
  }
  // The calendar repeats every 400 years: the day is moved to a year `Date` knows.
  const cycles = floorDivide(day, DAYS_OF_CYCLE);
  const [, year = '', rest = ''] = /^(\d+)(-.*)T/.exec(inCycle(day - cycles * DAYS_OF_CYCLE)) ?? [];
  const whole = BigInt(year) + cycles * 400n;
  return `${whole < 0n ? '-' : '+'}${String(whole < 0n ? -whole : whole).padStart(6, '0')}${rest}`;
}

const DAYS_OF_CYCLE = 146_097n;
const inCycle = (day: bigint): string => new Date(Number(day) * 86_400_000).toISOString();

const two = (value: number | bigint): string => (value < 10 ? `0${value}` : String(value));

function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}
