import { timestampText } from '../rows/time-text.ts';
import type { Axis, Place, TimeAxis } from './axis.ts';
import { dayOfMonth } from './calendar.ts';

/** Returns the exact text of a place, as the server writes the value. */
export function placeText(axis: Axis, place: Place): string {
  if (typeof place === 'number') return String(place);
  if (axis.kind === 'time') return timeText(axis, place);
  return axis.kind === 'whole' ? decimalText(place, axis.scale) : String(place);
}

/** Returns a whole number of units of 10^-scale as a decimal. */
export function decimalText(units: bigint, scale: number): string {
  if (scale === 0) return String(units);
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  return `${units < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** Reads a decimal as a whole number of units of 10^-scale; undefined if it is none, or has more digits. */
export function unitsFromDecimal(text: string, scale: number): bigint | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  if (!match) return undefined;
  const [, sign = '', whole = '', fraction = ''] = match;
  if (fraction.length > scale) return undefined;
  return BigInt(`${sign}${whole}${fraction.padEnd(scale, '0')}`);
}

/** Returns a time in ISO 8601, UTC, with all digits of its unit. */
export function timeText({ unit }: TimeAxis, place: bigint): string {
  return timestampText(place, unit === 'us' ? 2 : 3);
}

const TIME = /^([+-]?\d{4,}-\d\d-\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z$/;
const DAY_SECONDS = 86_400;

/** Reads a time as the server writes it; undefined if it is none (`infinity`). */
export function placeFromTime(axis: TimeAxis, text: string): bigint | undefined {
  const match = TIME.exec(text);
  if (!match) return undefined;
  const [, date = '', hours, minutes, seconds, fraction = ''] = match;
  const second = dayOf(date) * DAY_SECONDS + Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  const digits = axis.unit === 'us' ? 6 : 9;
  const perSecond = 10 ** digits;
  const rest = Number(fraction.padEnd(digits, '0').slice(0, digits));
  const whole = second * perSecond + rest;
  return Number.isSafeInteger(whole) ? BigInt(whole) : BigInt(second) * BigInt(perSecond) + BigInt(rest);
}

let lastDate = '';
let lastDay = 0;

/** Returns the day of a date, in days since 1970. The rows of a time series share their days: the last one is kept. */
function dayOf(date: string): number {
  if (date !== lastDate) {
    const [month, day] = [date.slice(-5, -3), date.slice(-2)];
    lastDay = dayOfMonth(Number(date.slice(0, -6)) * 12 + Number(month) - 1) + Number(day) - 1;
    lastDate = date;
  }
  return lastDay;
}

/** Reads the place of a value from its text; undefined if it has none. */
export function placeFromText(axis: Axis, text: string | null): Place | undefined {
  if (text === null) return undefined;
  if (axis.kind === 'time') return placeFromTime(axis, text);
  if (axis.kind === 'whole') return unitsFromDecimal(text, axis.scale);
  const number = Number(text);
  return Number.isFinite(number) ? number : undefined;
}

/** Orders places of one axis. */
export function comparePlaces(a: Place, b: Place): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
