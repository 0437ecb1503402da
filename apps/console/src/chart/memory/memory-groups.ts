import type { MemoryRows } from '../../rows/memory-rows.ts';
import type { Aggregate } from '../../state/tabs.ts';
import { type Axis, type Place, valueAxisOf } from '../axis.ts';
import type { BarValues, Field, Group } from '../chart-reader.ts';
import { decimalText } from '../place-text.ts';
import { placeReader } from './value-text.ts';

/** Makes one value of those of several rows. */
export interface Accumulator {
  add(row: number): void;
  /** Returns the exact text; null if no row has a value. */
  result(): string | null;
}

/** Returns the function that creates accumulators of a column. */
export function accumulators(rows: MemoryRows, field: Field, aggregate: Aggregate): () => Accumulator {
  const axis: Axis = valueAxisOf(field.type) ?? { kind: 'real' };
  const placeOf = placeReader(rows, field, axis);
  if (aggregate === 'min') return () => extreme(axis, placeOf, (a, b) => a < b);
  if (aggregate === 'max') return () => extreme(axis, placeOf, (a, b) => a > b);
  return () => total(axis, placeOf, aggregate === 'mean');
}

type PlaceOf = (row: number) => Place | undefined;

function extreme(axis: Axis, placeOf: PlaceOf, isBetter: (a: Place, b: Place) => boolean): Accumulator {
  let best: Place | undefined;
  return {
    add(row) {
      const place = placeOf(row);
      if (place !== undefined && (best === undefined || isBetter(place, best))) best = place;
    },
    result() {
      if (best === undefined) return null;
      return typeof best === 'bigint' && axis.kind === 'whole' ? decimalText(best, axis.scale) : String(best);
    },
  };
}

function total(axis: Axis, placeOf: PlaceOf, isMean: boolean): Accumulator {
  const scale = axis.kind === 'whole' ? axis.scale : 0;
  let sum: Place = axis.kind === 'whole' ? 0n : 0;
  let count = 0;
  return {
    add(row) {
      const place = placeOf(row);
      if (place === undefined) return;
      count += 1;
      sum = typeof sum === 'bigint' ? sum + BigInt(place) : sum + Number(place);
    },
    result() {
      if (count === 0) return null;
      if (typeof sum === 'bigint') return isMean ? String(meanOf(sum, count, scale)) : decimalText(sum, scale);
      return String(isMean ? sum / count : sum);
    },
  };
}

/** Returns the mean of exact values: rounded once, at the end. */
export function meanOf(sum: bigint, count: number, scale: number): number {
  const rest = Number(sum % BigInt(count)) / count;
  return (Number(sum / BigInt(count)) + rest) / 10 ** scale;
}

/** Rows by a key, with their aggregates. */
export interface Groups<K> {
  add(key: K, row: number): void;
  readonly all: () => Group[];
}

export function createGroups<K extends Group['key']>(rows: MemoryRows, { y, aggregate }: BarValues): Groups<K> {
  const columns = y.map((field) => accumulators(rows, field, aggregate));
  const groups = new Map<K, { rows: number; readonly values: readonly Accumulator[] }>();
  return {
    add(key, row) {
      let group = groups.get(key);
      if (!group) groups.set(key, (group = { rows: 0, values: columns.map((create) => create()) }));
      group.rows += 1;
      for (const value of group.values) value.add(row);
    },
    all: () =>
      [...groups].map(([key, group]) => ({
        key,
        rows: group.rows,
        values: group.values.map((value) => value.result()),
      })),
  };
}

/** Returns the first of some groups in an order; sorting all would take long if there are many. */
export function firstGroups(groups: readonly Group[], compare: (a: Group, b: Group) => number, most: number): Group[] {
  const first: Group[] = [];
  for (const group of groups) insertGroup(first, group, compare, most);
  return first;
}

/** Puts a group at its place of the first ones, if it is one of them. */
export function insertGroup(first: Group[], group: Group, compare: (a: Group, b: Group) => number, most: number): void {
  const last = first.at(-1);
  if (first.length >= most && last && compare(group, last) >= 0) return;
  const at = first.findIndex((other) => compare(group, other) < 0);
  first.splice(at < 0 ? first.length : at, 0, group);
  if (first.length > most) first.pop();
}

/** The highest first value comes first, then the most rows; nulls come last. */
export function compareBars(a: Group, b: Group): number {
  const [x, y] = [a.values[0] ?? null, b.values[0] ?? null];
  const byValue = x === null || y === null ? Number(x === null) - Number(y === null) : Number(y) - Number(x);
  return byValue || compareCounts(a, b);
}

/** The most rows come first, then the lowest key; null comes last. */
export function compareCounts(a: Group, b: Group): number {
  if (a.rows !== b.rows || a.key === b.key) return b.rows - a.rows;
  if (a.key === null || b.key === null) return a.key === null ? 1 : -1;
  return a.key < b.key ? -1 : 1;
}
