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

/** Returns the axis of a column that has numbers or times; undefined if it has neither. */
export function axisOf(type: string): Axis | undefined {
  if (type === 'TIMESTAMP' || type === 'DATE') return { kind: 'time', unit: 'us' };
  if (type === 'TIMESTAMP_NS') return { kind: 'time', unit: 'ns' };
  if (WHOLE_TYPES.has(type)) return { kind: 'whole', scale: 0 };
  if (type === 'LONG128' || REAL_TYPES.has(type)) return REAL;
  const decimal = decimalOf(type);
  if (!decimal) return undefined;
  // The unit is reached by a product of decimals, which have at most 38 digits.
  const { precision, scale } = decimal;
  return scale >= 0 && precision + scale <= 36 ? { kind: 'whole', scale } : REAL;
}

/** Returns the axis on which the values of a column are drawn: every digit counts, however long the numbers are. */
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

/** Whether values of a type may be NaN or infinite. */
export function isFloat(type: string): boolean {
  return REAL_TYPES.has(type);
}

function decimalOf(type: string): { readonly precision: number; readonly scale: number } | undefined {
  const match = /^DECIMAL\((\d+),(-?\d+)\)$/.exec(type);
  return match ? { precision: Number(match[1]), scale: Number(match[2]) } : undefined;
}

/** Returns the axis on which several columns are drawn together: the finest unit of them. */
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

/** Returns how far a place is from another one, for pixels; of doubles in a unit of `unitOf`. */
export function distance(from: Place, to: Place, unit = 1): number {
  return typeof from === 'bigint' && typeof to === 'bigint'
    ? Number(to - from)
    : Number(to) / unit - Number(from) / unit;
}

/** Returns the place that is so far from another one. Doubles end where they are infinite. */
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

/** Returns the range that shows something if all values are the same. */
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
