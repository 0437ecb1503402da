import { type Axis, type Place, secondsOf, type TimeAxis } from './axis.ts';

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

/** The last moment that JavaScript's dates have, in milliseconds. */
const MAX_MS = 8_640_000_000_000_000n;

/** Returns a time in ISO 8601, UTC, with all digits of its unit. */
export function timeText(axis: TimeAxis, place: bigint): string {
  const { ms, rest } = splitTime(axis, place);
  if (ms > MAX_MS || ms < -MAX_MS) return `${place} ${axis.unit}`;
  const digits = axis.unit === 'us' ? 3 : 6;
  return `${new Date(Number(ms)).toISOString().slice(0, -1)}${String(rest).padStart(digits, '0')}Z`;
}

/** Reads a time as the server writes it; undefined if it is none (`infinity`). */
export function placeFromTime(axis: TimeAxis, text: string): bigint | undefined {
  const match = /^([+-]?\d{4,}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/.exec(text);
  if (!match) return undefined;
  const [, day = '', time = '', fraction = ''] = match;
  const year = /^[+-]/.test(day) ? `${day.slice(0, 1)}${day.slice(1).replace(/^\d+/, (y) => y.padStart(6, '0'))}` : day;
  const ms = Date.parse(`${year}T${time}.000Z`);
  if (Number.isNaN(ms)) return undefined;
  const digits = axis.unit === 'us' ? 6 : 9;
  return (BigInt(ms) / 1000n) * secondsOf(axis) + BigInt(fraction.padEnd(digits, '0').slice(0, digits));
}

function splitTime(axis: TimeAxis, place: bigint): { readonly ms: bigint; readonly rest: bigint } {
  const perMs = secondsOf(axis) / 1000n;
  const rest = ((place % perMs) + perMs) % perMs;
  return { ms: (place - rest) / perMs, rest };
}
