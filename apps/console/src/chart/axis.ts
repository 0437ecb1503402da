import type { ColumnInfo } from '../api/api.ts';
import { timestampText } from '../rows/time-text.ts';

/** A place on an axis, exactly: a whole number of the axis's unit, or a double. */
export type Place = bigint | number;

/** A range of an axis; both ends are part of it. */
export interface Range {
  readonly lo: Place;
  readonly hi: Place;
}

/**
 * What the values of a column are on an axis. Whole numbers, decimals and times are whole numbers of a unit, so that
 * no digit is lost before a value becomes a pixel; floats are doubles.
 */
export type Axis = TimeAxis | WholeAxis | RealAxis;

export interface TimeAxis {
  readonly kind: 'time';
  readonly unit: 'us' | 'ns';
}

export interface WholeAxis {
  readonly kind: 'whole';
  /** The digits after the decimal point: the unit is 10^-scale. */
  readonly scale: number;
}

export interface RealAxis {
  readonly kind: 'real';
}

const REAL: RealAxis = { kind: 'real' };
const WHOLE_TYPES = new Set(['BYTE', 'SHORT', 'INT', 'LONG', 'ULONG']);
const REAL_TYPES = new Set(['FLOAT', 'DOUBLE']);

/** Returns the axis of a column with numbers or times; undefined for others. */
export function axisOf(type: string): Axis | undefined {
  if (type === 'TIMESTAMP' || type === 'DATE') return { kind: 'time', unit: 'us' };
  if (type === 'TIMESTAMP_NS') return { kind: 'time', unit: 'ns' };
  if (WHOLE_TYPES.has(type)) return { kind: 'whole', scale: 0 };
  if (type === 'LONG128' || REAL_TYPES.has(type)) return REAL;
  const decimal = decimalOf(type);
  if (!decimal) return undefined;
  // The unit is reached by a product of decimals, with at most 38 digits.
  const { precision, scale } = decimal;
  return scale >= 0 && precision + scale <= 36 ? { kind: 'whole', scale } : REAL;
}

/** Returns the axis of a column, or throws. */
export function axisOrThrow({ name, type }: ColumnInfo): Axis {
  const axis = axisOf(type);
  if (!axis) throw new Error(`The column "${name}" (${type}) has no places on an axis.`);
  return axis;
}

/** Returns the axis of a column's drawn values: every digit counts, however long the numbers are. */
export function valueAxisOf(type: string): Axis | undefined {
  if (type === 'LONG128') return { kind: 'whole', scale: 0 };
  const decimal = decimalOf(type);
  return decimal ? { kind: 'whole', scale: Math.max(0, decimal.scale) } : axisOf(type);
}

export function isTime(type: string): boolean {
  return axisOf(type)?.kind === 'time';
}

export function isNumber(type: string): boolean {
  const axis = axisOf(type);
  return axis !== undefined && axis.kind !== 'time';
}

/** True if values of a type may be NaN or infinite. */
export function isFloat(type: string): boolean {
  return REAL_TYPES.has(type);
}

function decimalOf(type: string): { readonly precision: number; readonly scale: number } | undefined {
  const match = /^DECIMAL\((\d+),(-?\d+)\)$/.exec(type);
  return match ? { precision: Number(match[1]), scale: Number(match[2]) } : undefined;
}

/** Returns the common axis of several columns: the finest unit of them. */
export function commonAxis(axes: readonly Axis[]): Axis {
  const scales = axes.map((axis) => (axis.kind === 'whole' ? axis.scale : undefined));
  if (axes.length === 0 || scales.includes(undefined)) return axes.length === 1 ? (axes[0] ?? REAL) : REAL;
  return { kind: 'whole', scale: Math.max(...scales.map((scale) => scale ?? 0)) };
}

/** Reads a place from a value of an answer: the number of units, as digits or as a number. */
export function placeFrom(axis: Axis, value: unknown): Place | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'bigint') return value;
  if (axis.kind === 'real') {
    const number = Number(value);
    return Number.isFinite(number) ? number : undefined;
  }
  return typeof value === 'string' || typeof value === 'number' ? BigInt(value) : undefined;
}

/** Returns a value of an answer as text: floats with the fewest digits to read them back, all else exactly. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

/** Returns how far a place is from another one, for pixels; of doubles in a unit of `unitOf`. */
export function distance(from: Place, to: Place, unit = 1): number {
  return typeof from === 'bigint' && typeof to === 'bigint'
    ? Number(to - from)
    : Number(to) / unit - Number(from) / unit;
}

/** Returns the place at a distance from another one. Doubles end where they are infinite. */
export function shifted(from: Place, offset: number, unit = 1): Place {
  return typeof from === 'bigint' ? from + BigInt(Math.round(offset)) : finite((from / unit + offset) * unit);
}

/** Returns a part of the length of a range, to shift its ends: the whole length can be too large for a double. */
export function lengthPart({ lo, hi }: Range, share: number): number {
  return typeof lo === 'bigint' && typeof hi === 'bigint'
    ? Number(hi - lo) * share
    : Number(hi) * share - Number(lo) * share;
}

const [MIN_PLAIN, MAX_PLAIN] = [1e-300, 1e300];

/**
 * Returns the unit in which pixels measure doubles: 1, unless their differences would be infinite or lose digits. It is a
 * power of two, so that a value divided by it keeps its digits.
 */
export function unitOf(places: readonly (Place | null | undefined)[]): number {
  let most = 0;
  for (const place of places) if (typeof place === 'number') most = Math.max(most, Math.abs(place));
  return most === 0 || (most >= MIN_PLAIN && most <= MAX_PLAIN) ? 1 : 2 ** Math.min(1023, Math.floor(Math.log2(most)));
}

/** Returns the nearest finite double. */
export function finite(value: number): number {
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));
}

/** Returns a wider range if all values are the same. */
export function widened(axis: Axis, { lo, hi }: Range): Range {
  if (lo !== hi) return { lo, hi };
  if (typeof lo === 'bigint' && typeof hi === 'bigint') {
    const by = axis.kind === 'time' ? secondsOf(axis) : 1n;
    return { lo: lo - by, hi: hi + by };
  }
  const by = Math.abs(Number(lo)) / 10 || 1;
  return { lo: finite(Number(lo) - by), hi: finite(Number(hi) + by) };
}

/** How many units a second has. */
export function secondsOf({ unit }: TimeAxis): bigint {
  return unit === 'us' ? 1_000_000n : 1_000_000_000n;
}

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

/** The calendar repeats every 400 years: years beyond those of `Date` have a calendar, too. */
const CYCLE_MONTHS = 4800;
const CYCLE_DAYS = 146_097;
const DAY_MS = 86_400_000;
/** `Date` computes in the cycle from the year 2000 on. */
const FIRST_MONTH = 24_000;
const FIRST_DAY = 10_957;

/** Returns the first day of a month, in days since 1970. Months are counted from January of the year 0. */
export function dayOfMonth(month: number): number {
  const cycles = Math.floor((month - FIRST_MONTH) / CYCLE_MONTHS);
  const near = month - cycles * CYCLE_MONTHS;
  return Date.UTC(Math.floor(near / 12), near % 12, 1) / DAY_MS + cycles * CYCLE_DAYS;
}

/** Returns the month of a day since 1970, counted from January of the year 0. */
export function monthOfDay(day: number): number {
  const cycles = Math.floor((day - FIRST_DAY) / CYCLE_DAYS);
  const date = new Date((day - cycles * CYCLE_DAYS) * DAY_MS);
  return date.getUTCFullYear() * 12 + date.getUTCMonth() + cycles * CYCLE_MONTHS;
}

/** How the user moves over a chart. */
export type Move = 'in' | 'out' | 'left' | 'right' | 'all';

/** The keys of a chart. */
export const MOVE_KEYS: Readonly<Record<string, Move>> = {
  '+': 'in',
  '=': 'in',
  '-': 'out',
  _: 'out',
  ArrowLeft: 'left',
  ArrowRight: 'right',
  '0': 'all',
  Home: 'all',
};

/** Returns the range after a move; undefined if everything is shown. It stays within the extent. */
export function moved(range: Range, extent: Range, move: Move): Range | undefined {
  if (move === 'all') return undefined;
  const [quarter, half] = [lengthPart(range, 1 / 4), lengthPart(range, 1 / 2)];
  if (move === 'in') return narrowed(range, { lo: shifted(range.lo, quarter), hi: shifted(range.hi, -quarter) });
  if (move === 'out') return within({ lo: shifted(range.lo, -half), hi: shifted(range.hi, half) }, extent);
  const step = move === 'left' ? -quarter : quarter;
  const room = move === 'left' ? distance(range.lo, extent.lo) : distance(range.hi, extent.hi);
  const by = move === 'left' ? Math.max(step, Math.min(0, room)) : Math.min(step, Math.max(0, room));
  return within({ lo: shifted(range.lo, by), hi: shifted(range.hi, by) }, extent);
}

/** Returns the part of a range within the extent; undefined if it is the whole extent. */
export function within({ lo, hi }: Range, extent: Range): Range | undefined {
  const range = { lo: lo < extent.lo ? extent.lo : lo, hi: hi > extent.hi ? extent.hi : hi };
  return range.lo === extent.lo && range.hi === extent.hi ? undefined : range;
}

/** Returns the narrower range unless there is nothing between its ends. */
export function narrowed(range: Range, narrower: Range): Range {
  return narrower.lo < narrower.hi && distance(narrower.lo, narrower.hi) > 0 ? narrower : range;
}
