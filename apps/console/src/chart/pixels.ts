import { type Axis, distance, type Place, placeFromText, unitOf } from './axis.ts';
import type { ChartData } from './load-chart.ts';

/** A chart as numbers for pixels: distances from the start of the range, and from a base of the values. */
export interface Pixels {
  readonly xs: readonly number[];
  /** Null is a gap, undefined no point. */
  readonly ys: readonly (readonly (number | null | undefined)[])[];
  readonly yBase: Place;
  /** The units of distances between doubles. */
  readonly xUnit: number;
  readonly yUnit: number;
}

/** Beyond this, doubles have no fractions of a unit. */
const MAX_EXACT = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * Returns the numbers of a chart. Exact values become distances from a base before they become doubles, so that values
 * near 2^60 that differ by one are drawn apart. Bars start at 0, which is their base.
 */
export function pixelsOf({ kind, range, places, yAxis, series }: ChartData): Pixels {
  const values = series.map(({ texts }) => texts.map((text) => placeOf(yAxis, text)));
  const yBase = kind === 'line' || kind === 'ohlc' ? baseOf(yAxis, values) : zeroOf(yAxis);
  const xUnit = unitOf([range.lo, range.hi]);
  const yUnit = unitOf(values.flat());
  return {
    xs: places.map((place) => distance(range.lo, place, xUnit)),
    ys: values.map((one) =>
      one.map((value) => (value === null || value === undefined ? value : distance(yBase, value, yUnit))),
    ),
    yBase,
    xUnit,
    yUnit,
  };
}

function placeOf(axis: Axis, text: string | null | undefined): Place | null | undefined {
  return text === null || text === undefined ? text : (placeFromText(axis, text) ?? null);
}

function zeroOf(axis: Axis): Place {
  return axis.kind === 'real' ? 0 : 0n;
}

function baseOf(axis: Axis, values: readonly (readonly (Place | null | undefined)[])[]): Place {
  if (axis.kind === 'real') return 0;
  let lowest: bigint | undefined;
  let isLong = false;
  for (const value of values.flat()) {
    if (typeof value !== 'bigint') continue;
    if (lowest === undefined || value < lowest) lowest = value;
    if (value > MAX_EXACT || value < -MAX_EXACT) isLong = true;
  }
  return isLong ? (lowest ?? 0n) : 0n;
}

/** Returns the range of the values with some space; bars start at 0. */
export function valueRange(kind: ChartData['kind'], min: number | null, max: number | null): [number, number] {
  if (min === null || max === null) return [0, 1];
  const isBar = kind === 'bar' || kind === 'histogram';
  const lo = isBar ? Math.min(0, min) : min;
  const hi = isBar ? Math.max(0, max) : max;
  const space = (hi - lo) * 0.06 || Math.abs(hi) * 0.1 || 1;
  return [isBar && lo === 0 ? 0 : lo - space, isBar && hi === 0 ? 0 : hi + space];
}
