import { type Axis, axisOf, type Place, type Range, widened } from '../chart/axis.ts';
import { MAX_LABEL } from '../chart/bar-sql.ts';
import { bucketsOf, wholeBuckets } from '../chart/bucket.ts';
import type { Field, Group } from '../chart/chart-reader.ts';
import { compareCounts, insertGroup, meanOf } from '../chart/memory/memory-groups.ts';
import type { Slices } from '../chart/memory/slices.ts';
import { isPlace } from '../chart/memory/value-text.ts';
import { placeFromText } from '../chart/place-text.ts';
import type { MemoryRows } from '../rows/memory-rows.ts';
import type { ColumnSummary } from './column-summary.ts';
import { hasHistogram, hasOrder, MAX_BINS, type SmallHistogram, TEXT_LENGTH, TOP_VALUES } from './summary-sql.ts';

/** A value, and how many rows have it. */
interface Counted {
  /** The number or, if there is none, the text. */
  readonly key: Place | string;
  /** The first row that has it. */
  readonly row: number;
  rows: number;
  /** Where it is on the axis; undefined if the column has none, or the value is not finite. */
  readonly place: Place | undefined;
}

/** Summarises a column of rows in memory. Every value is read once, and only the texts that are shown are made. */
export async function summariseRows(rows: MemoryRows, field: Field, slices: Slices): Promise<ColumnSummary> {
  const axis = axisOf(field.type);
  const count = rows.rowCount.peek();
  const { values, nulls } = await countValues(rows, field, slices);
  const textOf = ({ key, row }: Counted): string =>
    typeof key === 'string' ? key : (rows.text(row, field.index) ?? '');
  const figures = {
    rows: count,
    nulls,
    distinct: values.length,
    ...(await figuresOf(values, field, textOf, slices)),
  };
  if (axis && hasHistogram(field, values.length)) {
    return { ...figures, histogram: await histogramOf(values, axis, slices), top: [] };
  }
  return { ...figures, histogram: undefined, top: await topOf(values, nulls, textOf, slices) };
}

async function countValues(
  rows: MemoryRows,
  { index, type }: Field,
  slices: Slices,
): Promise<{ readonly values: readonly Counted[]; readonly nulls: number }> {
  const axis = axisOf(type);
  const counts = new Map<Place | string, Counted>();
  const values: Counted[] = [];
  let nulls = 0;
  await slices.forEach(rows.rowCount.peek(), (row) => {
    const number = axis && rows.number?.(row, index);
    const isNumber = axis !== undefined && isPlace(axis, number);
    const key = isNumber ? number : rows.text(row, index);
    if (key === null) {
      nulls += 1;
      return;
    }
    const known = counts.get(key);
    if (known) {
      known.rows += 1;
      return;
    }
    const place = typeof key === 'string' ? axis && placeFromText(axis, key) : key;
    const value: Counted = { key, row, rows: 1, place };
    counts.set(key, value);
    values.push(value);
  });
  return { values, nulls };
}

/** Returns the most frequent values. */
async function topOf(
  values: readonly Counted[],
  nulls: number,
  textOf: (value: Counted) => string,
  slices: Slices,
): Promise<readonly Group[]> {
  const top: Group[] = nulls > 0 ? [{ key: null, rows: nulls, values: [] }] : [];
  await slices.forEach(values.length, (at) => {
    const value = values[at];
    if (value) insertGroup(top, { key: textOf(value), rows: value.rows, values: [] }, compareCounts, TOP_VALUES);
  });
  return top.map((group) => ({ ...group, key: typeof group.key === 'string' ? group.key.slice(0, MAX_LABEL) : null }));
}

type Figures = Pick<ColumnSummary, 'min' | 'max' | 'mean' | 'notFinite'>;

async function figuresOf(
  values: readonly Counted[],
  { type }: Field,
  textOf: (value: Counted) => string,
  slices: Slices,
): Promise<Figures> {
  const axis = axisOf(type);
  const isOrdered = hasOrder(type);
  const isNumber = axis !== undefined && axis.kind !== 'time';
  let sum: Place = axis?.kind === 'whole' ? 0n : 0;
  let numbers = 0;
  let notFinite = 0;
  let min: Counted | undefined;
  let max: Counted | undefined;
  await slices.forEach(values.length, (at) => {
    const value = values[at];
    if (!value) return;
    const { place, rows } = value;
    if (isNumber && place === undefined) {
      notFinite += rows;
      return;
    }
    if (isOrdered) {
      if (!min || isBelow(value, min, textOf)) min = value;
      if (!max || isBelow(max, value, textOf)) max = value;
    }
    if (!isNumber || place === undefined) return;
    numbers += rows;
    sum = typeof sum === 'bigint' ? sum + BigInt(place) * BigInt(rows) : sum + Number(place) * rows;
  });
  return {
    min: min ? textOf(min).slice(0, TEXT_LENGTH) : null,
    max: max ? textOf(max).slice(0, TEXT_LENGTH) : null,
    mean: numbers > 0 ? meanText(axis, sum, numbers) : null,
    notFinite,
  };
}

function meanText(axis: Axis | undefined, sum: Place, count: number): string {
  if (typeof sum === 'bigint') return String(meanOf(sum, count, axis?.kind === 'whole' ? axis.scale : 0));
  return String(sum / count);
}

function isBelow(one: Counted, other: Counted, textOf: (value: Counted) => string): boolean {
  if (one.place !== undefined && other.place !== undefined) return one.place < other.place;
  return textOf(one) < textOf(other);
}

async function histogramOf(
  values: readonly Counted[],
  axis: Axis,
  slices: Slices,
): Promise<SmallHistogram | undefined> {
  let range: Range | undefined;
  await slices.forEach(values.length, (at) => {
    const place = values[at]?.place;
    if (place === undefined) return;
    range = {
      lo: range && range.lo <= place ? range.lo : place,
      hi: range && range.hi >= place ? range.hi : place,
    };
  });
  if (!range) return undefined;
  const bucket = bucketsOf(axis, widened(axis, range), MAX_BINS);
  const first = bucket.of(range.lo);
  const counts = Array.from({ length: bucket.of(range.hi) - first + 1 }, () => 0);
  await slices.forEach(values.length, (at) => {
    const { place, rows = 0 } = values[at] ?? {};
    if (place === undefined) return;
    const key = bucket.of(place) - first;
    counts[key] = (counts[key] ?? 0) + rows;
  });
  return { axis, range: wholeBuckets(bucket, range), counts };
}
