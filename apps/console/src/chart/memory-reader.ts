import type { MemoryRows } from '../rows/row-source.ts';
import {
  type Axis,
  axisOf,
  comparePlaces,
  decimalText,
  distance,
  isFloat,
  type Place,
  placeFromText,
  type Range,
  unitOf,
  valueAxisOf,
} from './axis.ts';
import { hasOrder, TEXT_LENGTH } from './chart-sql.ts';
import type { ChartReader, Field, Figures, Group, GroupValue, LineFields, LineSource } from './chart-reader.ts';
import type { AnswerTable } from '../api/statements.ts';

/** Creates a reader of rows in memory. It works in slices, and throws if they were cancelled. */
export function createMemoryReader(rows: MemoryRows, slices: Slices): ChartReader {
  const count = rows.rowCount.peek();
  return {
    figures: (field) => readFigures(rows, field, slices),
    async extent(x) {
      const places = await placesOf(rows, x, slices);
      let range: Range | undefined;
      let placed = 0;
      await slices.forEach(count, (row) => {
        const place = places[row];
        if (place === undefined) return;
        placed += 1;
        if (range === undefined) range = { lo: place, hi: place };
        else if (place < range.lo) range = { ...range, lo: place };
        else if (place > range.hi) range = { ...range, hi: place };
      });
      return range && { range, rows: placed };
    },
    line: (fields) => createMemoryLine(rows, fields, slices),
    async bars(field, values, most, maxLabel) {
      const groups = createGroups<string | null>(rows, values);
      await slices.forEach(count, (row) => {
        const text = rows.text(row, field.index);
        // Both zeros are one number.
        groups.add(isFloat(field.type) && text === '-0' ? '0' : text, row);
      });
      const all = groups.all();
      const first = firstGroups(all, values.length > 0 ? compareBars : compareCounts, most);
      const labelOf = ({ key }: Group): string | null => (typeof key === 'string' ? key.slice(0, maxLabel) : null);
      return { groups: first.map((group) => ({ ...group, key: labelOf(group) })), total: all.length };
    },
    async buckets(x, values, bucket, range) {
      const places = await placesOf(rows, x, slices);
      const groups = createGroups<number>(rows, values);
      await slices.forEach(count, (row) => {
        const place = places[row];
        if (place !== undefined && place >= range.lo && place <= range.hi) groups.add(bucket.of(place), row, place);
      });
      return groups.all().toSorted((a, b) => Number(a.key) - Number(b.key));
    },
  };
}

/** Reads every value once; the texts of numbers are made only for the lowest and the highest. */
async function readFigures(rows: MemoryRows, { index, type }: Field, slices: Slices): Promise<Figures> {
  const axis = axisOf(type);
  const isNumber = axis !== undefined && axis.kind !== 'time';
  const isOrdered = hasOrder(type);
  const distinct = new Set<Place | string>();
  let sum: Place = axis?.kind === 'whole' ? 0n : 0;
  let [nulls, numbers, notFinite] = [0, 0, 0];
  let min: Value | undefined;
  let max: Value | undefined;
  const textOf = ({ key, row }: Value): string => (typeof key === 'string' ? key : (rows.text(row, index) ?? ''));
  const isBelow = (one: Value, other: Value): boolean =>
    one.place !== undefined && other.place !== undefined ? one.place < other.place : textOf(one) < textOf(other);
  await slices.forEach(rows.rowCount.peek(), (row) => {
    const number = axis && rows.number?.(row, index);
    const key = axis && isPlace(axis, number) ? number : rows.text(row, index);
    if (key === null) {
      nulls += 1;
      return;
    }
    const isNew = distinct.size < distinct.add(key).size;
    if (!isNew && !isNumber) return;
    const place = typeof key === 'string' ? axis && placeFromText(axis, key) : key;
    if (isNumber && place === undefined) {
      notFinite += 1;
      return;
    }
    if (isNew && isOrdered) {
      const value = { key, row, place };
      if (!min || isBelow(value, min)) min = value;
      if (!max || isBelow(max, value)) max = value;
    }
    if (!isNumber || place === undefined) return;
    numbers += 1;
    sum = typeof sum === 'bigint' ? sum + BigInt(place) : sum + Number(place);
  });
  return {
    rows: rows.rowCount.peek(),
    nulls,
    distinct: distinct.size,
    min: min ? textOf(min).slice(0, TEXT_LENGTH) : null,
    max: max ? textOf(max).slice(0, TEXT_LENGTH) : null,
    mean: numbers > 0 ? meanText(axis, sum, numbers) : null,
    notFinite,
  };
}

/** A value and its first row. */
interface Value {
  /** The number or, if there is none, the text. */
  readonly key: Place | string;
  readonly row: number;
  /** Undefined if the column has no axis, or the value is not finite. */
  readonly place: Place | undefined;
}

/** The places of columns: a chart asks for those of its x axis at every zoom. */
const knownPlaces = new WeakMap<MemoryRows, Map<number, readonly (Place | undefined)[]>>();

async function placesOf(rows: MemoryRows, x: Field, slices: Slices): Promise<readonly (Place | undefined)[]> {
  const count = rows.rowCount.peek();
  const known = knownPlaces.get(rows)?.get(x.index);
  if (known?.length === count) return known;
  const axis = axisOf(x.type);
  const places: (Place | undefined)[] = [];
  const placeOf = axis ? placeReader(rows, x, axis) : () => undefined;
  await slices.forEach(count, (row) => places.push(placeOf(row)));
  knownPlaces.set(
    rows,
    (knownPlaces.get(rows) ?? new Map<number, readonly (Place | undefined)[]>()).set(x.index, places),
  );
  return places;
}

/** A point, and its value as a place, to compare it. */
interface Point {
  readonly place: Place;
  readonly text: string;
  readonly value: Place;
}

/** What a column of pixels has of a series. */
interface PixelColumn {
  readonly column: number;
  readonly series: number;
  rows: number;
  start: Place;
  readonly points: ({ first: Point; lowest: Point; highest: Point; last: Point } | undefined)[];
}

/** Creates the source of a line of rows in memory: it answers as the SQL of lines does. */
function createMemoryLine(rows: MemoryRows, { x, y, by }: LineFields, slices: Slices): LineSource {
  const valuesOf = y.map((field) => pointReader(rows, field));
  const numbers = by && new Map(by.values.map((value, number) => [value, number] as const));
  const splitOf = by && textReader(rows, by.field);
  /** The number of a row's series; undefined if it is not drawn. */
  const seriesOf = (row: number): number | undefined => (splitOf ? numbers?.get(splitOf(row)) : 0);

  async function forEachRow(
    isWanted: (place: Place) => boolean,
    visit: (row: number, place: Place, series: number) => void,
  ): Promise<void> {
    const places = await placesOf(rows, x, slices);
    await slices.forEach(places.length, (row) => {
      const place = places[row];
      if (place === undefined || !isWanted(place)) return;
      const series = seriesOf(row);
      if (series !== undefined) visit(row, place, series);
    });
  }

  return {
    async pixels(range, width, margin) {
      const columns = new Map<string, PixelColumn>();
      await forEachRow(isIn(margin), (row, place, series) => {
        const column = columnOf(range, place, width);
        const key = `${column} ${series}`;
        let pixels = columns.get(key);
        if (!pixels) columns.set(key, (pixels = { column, series, rows: 0, start: place, points: [] }));
        pixels.rows += 1;
        if (place < pixels.start) pixels.start = place;
        for (const [i, valueOf] of valuesOf.entries()) addPoint(pixels, i, valueOf(row, place));
      });
      return [...columns.values()].toSorted((a, b) => a.column - b.column).map((pixels) => rowOf(pixels, y.length));
    },
    async points(margin, limit) {
      const found: (readonly [Place, number, ...(string | null)[]])[] = [];
      await forEachRow(isIn(margin), (row, place, series) => {
        found.push([place, series, ...valuesOf.map((valueOf) => valueOf(row, place)?.text ?? null)]);
      });
      return found.toSorted(([a], [b]) => comparePlaces(a, b)).slice(0, limit);
    },
    async edges(margin) {
      const nearest = new Map<string, (Point | undefined)[]>();
      await forEachRow(
        (place) => !isIn(margin)(place),
        (row, place, series) => {
          const isBefore = place < margin.lo;
          const key = `${isBefore ? 0 : 1} ${series}`;
          const points = nearest.get(key) ?? [];
          nearest.set(key, points);
          for (const [i, valueOf] of valuesOf.entries()) {
            const point = valueOf(row, place);
            const other = points[i];
            if (point && (!other || (isBefore ? place > other.place : place < other.place))) points[i] = point;
          }
        },
      );
      return [...nearest].map(([key, points]) => [
        ...key.split(' ').map(Number),
        ...y.flatMap((_, i) => [points[i]?.place, points[i]?.text]),
      ]);
    },
  };
}

function isIn({ lo, hi }: Range): (place: Place) => boolean {
  return (place) => place >= lo && place <= hi;
}

function pointReader(rows: MemoryRows, field: Field): (row: number, place: Place) => Point | undefined {
  const textOf = textReader(rows, field);
  const axis: Axis = valueAxisOf(field.type) ?? { kind: 'real' };
  return (row, place) => {
    const text = textOf(row);
    const value = placeFromText(axis, text);
    return text === null || value === undefined ? undefined : { place, text, value };
  };
}

function addPoint({ points }: PixelColumn, at: number, point: Point | undefined): void {
  if (!point) return;
  const four = points[at];
  if (!four) {
    points[at] = { first: point, lowest: point, highest: point, last: point };
    return;
  }
  if (point.place < four.first.place) four.first = point;
  if (point.value < four.lowest.value) four.lowest = point;
  if (point.value > four.highest.value) four.highest = point;
  if (point.place >= four.last.place) four.last = point;
}

/** Returns a row as `m4Sql` does. */
function rowOf({ column, series, rows, start, points }: PixelColumn, count: number): AnswerTable['rows'][number] {
  const values = Array.from({ length: count }, (_, i) => {
    const { first, lowest, highest, last } = points[i] ?? {};
    return [first, lowest, highest, last].flatMap((point) => [point?.place, point?.text]);
  });
  return [column, series, rows, start, ...values.flat()];
}

/** Returns the column of pixels of a place, as `m4Sql` does: 0 at the start of the range, `width` at its end. */
function columnOf({ lo, hi }: Range, place: Place, width: number): number {
  if (typeof place === 'number' || typeof lo === 'number' || typeof hi === 'number') {
    const unit = unitOf([Number(lo), Number(hi)]);
    const [start, length] = [Number(lo) / unit, distance(Number(lo), Number(hi), unit)];
    return Math.floor(((Number(place) / unit - start) / length) * width);
  }
  const length = hi - lo;
  const pixels = (place - lo) * BigInt(width);
  return Number((place < lo ? pixels - (length - 1n) : pixels) / length);
}

/** Makes one value of those of several rows. */
interface Accumulator {
  /** The place counts for the first and the last value. */
  add(row: number, place: Place | undefined): void;
  /** Returns the exact text; null if no row has a value. */
  result(): string | null;
}

/** Returns a function to create accumulators of a column. */
function accumulators(rows: MemoryRows, { field, aggregate }: GroupValue): () => Accumulator {
  const textOf = textReader(rows, field);
  if (aggregate === 'first') return () => edge(textOf, (place, found) => place < found);
  if (aggregate === 'last') return () => edge(textOf, (place, found) => place >= found);
  const axis: Axis = valueAxisOf(field.type) ?? { kind: 'real' };
  const placeOf = placeReader(rows, field, axis);
  if (aggregate === 'min') return () => extreme(axis, placeOf, (a, b) => a < b);
  if (aggregate === 'max') return () => extreme(axis, placeOf, (a, b) => a > b);
  return () => total(axis, placeOf, aggregate === 'mean');
}

function edge(textOf: (row: number) => string | null, isBetter: (place: Place, found: Place) => boolean): Accumulator {
  let found: { readonly place: Place; readonly text: string } | undefined;
  return {
    add(row, place = 0) {
      const text = found && !isBetter(place, found.place) ? null : textOf(row);
      if (text !== null) found = { place, text };
    },
    result: () => found?.text ?? null,
  };
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
      return isMean || typeof sum === 'number' ? meanText(axis, sum, isMean ? count : 1) : decimalText(sum, scale);
    },
  };
}

/** Returns a mean. The mean of exact values is rounded once, at the end. */
function meanText(axis: Axis | undefined, sum: Place, count: number): string {
  if (typeof sum === 'number') return String(sum / count);
  const rest = Number(sum % BigInt(count)) / count;
  return String((Number(sum / BigInt(count)) + rest) / 10 ** (axis?.kind === 'whole' ? axis.scale : 0));
}

/** Rows by a key, with their aggregates. */
interface Groups<K> {
  add(key: K, row: number, place?: Place): void;
  readonly all: () => Group[];
}

function createGroups<K extends Group['key']>(rows: MemoryRows, values: readonly GroupValue[]): Groups<K> {
  const columns = values.map((value) => accumulators(rows, value));
  const groups = new Map<K, { rows: number; readonly values: readonly Accumulator[] }>();
  return {
    add(key, row, place) {
      let group = groups.get(key);
      if (!group) groups.set(key, (group = { rows: 0, values: columns.map((create) => create()) }));
      group.rows += 1;
      for (const value of group.values) value.add(row, place);
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
function firstGroups(groups: readonly Group[], compare: (a: Group, b: Group) => number, most: number): Group[] {
  const first: Group[] = [];
  for (const group of groups) {
    const last = first.at(-1);
    if (first.length >= most && last && compare(group, last) >= 0) continue;
    const at = first.findIndex((other) => compare(group, other) < 0);
    first.splice(at < 0 ? first.length : at, 0, group);
    if (first.length > most) first.pop();
  }
  return first;
}

/** The highest first value comes first, then the most rows; nulls come last. */
function compareBars(a: Group, b: Group): number {
  const [x, y] = [a.values[0] ?? null, b.values[0] ?? null];
  const byValue = x === null || y === null ? Number(x === null) - Number(y === null) : Number(y) - Number(x);
  return byValue || compareCounts(a, b);
}

/** The most rows come first, then the lowest key; null comes last. */
function compareCounts(a: Group, b: Group): number {
  if (a.rows !== b.rows || a.key === b.key) return b.rows - a.rows;
  if (a.key === null || b.key === null) return a.key === null ? 1 : -1;
  return a.key < b.key ? -1 : 1;
}

/** Returns a function to read the exact text of a column's value; null for null, NaN and infinity. */
export function textReader(rows: MemoryRows, { index, type }: Field): (row: number) => string | null {
  const axis = axisOf(type);
  if (!axis || axis.kind === 'time') return (row) => rows.text(row, index);
  return (row) => {
    const text = rows.text(row, index);
    return text === null || !Number.isFinite(Number(text)) ? null : text;
  };
}

/** Returns a function to read the place of a column's value; undefined if it has none. */
export function placeReader(rows: MemoryRows, field: Field, axis: Axis): (row: number) => Place | undefined {
  const textOf = textReader(rows, field);
  return (row) => {
    const number = rows.number?.(row, field.index);
    return isPlace(axis, number) ? number : placeFromText(axis, textOf(row));
  };
}

/** True if a number of a column is its place; else its text has to be read. */
function isPlace(axis: Axis, number: Place | undefined): number is Place {
  return axis.kind === 'real' ? typeof number === 'number' && Number.isFinite(number) : typeof number === 'bigint';
}

/** Divides work on many rows into slices: the page paints and takes keys between them. */
export interface Slices {
  /** Calls `visit` with 0, 1, … `count - 1`. Throws the signal's reason if the work was cancelled. */
  forEach(count: number, visit: (index: number) => void): Promise<void>;
}

/** Half of a frame at 60 Hz: the other half is for the page. */
const SLICE_MS = 8;
/** Reading the clock takes as long as a few rows. */
const ROWS_PER_LOOK = 32;

export function createSlices(signal?: AbortSignal): Slices {
  let endsAtMs = performance.now() + SLICE_MS;
  return {
    async forEach(count, visit) {
      signal?.throwIfAborted();
      for (let index = 0; index < count; index += 1) {
        if (index % ROWS_PER_LOOK === 0 && performance.now() >= endsAtMs) {
          await nextTask();
          signal?.throwIfAborted();
          endsAtMs = performance.now() + SLICE_MS;
        }
        visit(index);
      }
    },
  };
}

/** Resolves in a task of its own. Timers would wait 4 ms each time, and a second in a hidden tab. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener(
      'message',
      () => {
        port1.close();
        resolve();
      },
      { once: true },
    );
    port1.start();
    port2.postMessage(undefined);
  });
}
