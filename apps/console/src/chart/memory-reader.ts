import type { RowSource } from '../rows/row-source.ts';
import type { Aggregate } from '../state/tabs.ts';
import { type Axis, axisOf, commonAxis, type Place, valueAxisOf } from './axis.ts';
import { MAX_LABEL } from './bar-sql.ts';
import type { BarValues, Candle, ChartReader, Field, Group, LinePoints, LineRequest } from './chart-reader.ts';
import { decimalText, placeFromTime, unitsFromDecimal } from './place-text.ts';
import { marginOf } from './sql-reader.ts';

/** Creates a reader of rows in memory. */
export function createMemoryReader(rows: RowSource): ChartReader {
  return {
    async extent(x) {
      let lo: Place | undefined;
      let hi: Place | undefined;
      let count = 0;
      for (const { place } of placed(rows, x)) {
        count += 1;
        if (lo === undefined || place < lo) lo = place;
        if (hi === undefined || place > hi) hi = place;
      }
      return lo === undefined || hi === undefined ? undefined : { range: { lo, hi }, rows: count };
    },
    line: async (request) => ({ lines: readLines(rows, request), isWhole: true }),
    async top(field, most) {
      const groups = groupsOf(rows, field, { y: [], aggregate: 'sum' });
      return {
        groups: groups.toSorted((a, b) => b.rows - a.rows || compareKeys(a, b)).slice(0, most),
        total: groups.length,
      };
    },
    async bars(field, values, most) {
      const groups = groupsOf(rows, field, values);
      return { groups: groups.toSorted(compareBars).slice(0, most), total: groups.length };
    },
    async buckets(x, values, bucket, range) {
      const groups = new Map<number, number[]>();
      for (const { row, place } of placed(rows, x)) {
        if (place < range.lo || place > range.hi) continue;
        addTo(groups, bucket.of(place), row);
      }
      const sorted = [...groups].toSorted(([a], [b]) => a - b);
      return sorted.map(([key, members]) => groupOf(rows, key, members, values));
    },
    async candles(x, ohlc, bucket, range) {
      const inRange = sortedRows(rows, x).filter(({ place }) => place >= range.lo && place <= range.hi);
      if (!bucket) return inRange.map(({ row, place }) => candleOf(rows, place, [row], ohlc));
      const groups = new Map<number, number[]>();
      for (const { row, place } of inRange) addTo(groups, bucket.of(place), row);
      return [...groups].map(([key, members]) => candleOf(rows, bucket.start(key), members, ohlc));
    },
  };
}

interface PlacedRow {
  readonly row: number;
  readonly place: Place;
}

/** Returns the exact text of a value; null for null, NaN and infinity. */
export function valueText(rows: RowSource, row: number, { index, type }: Field): string | null {
  const cell = rows.cell(row, index);
  if (!cell || cell.look === 'null') return null;
  const axis = axisOf(type);
  if (axis && axis.kind !== 'time' && !Number.isFinite(Number(cell.text))) return null;
  return cell.look === 'empty' ? '' : cell.text;
}

/** Reads the place of a value from its text; undefined if it has none. */
export function placeFromText(axis: Axis, text: string | null): Place | undefined {
  if (text === null) return undefined;
  if (axis.kind === 'time') return placeFromTime(axis, text);
  if (axis.kind === 'whole') return unitsFromDecimal(text, axis.scale);
  const number = Number(text);
  return Number.isFinite(number) ? number : undefined;
}

function* placed(rows: RowSource, x: Field): Generator<PlacedRow> {
  const axis = axisOf(x.type);
  if (!axis) return;
  const count = rows.rowCount.peek();
  for (let row = 0; row < count; row += 1) {
    const place = placeFromText(axis, valueText(rows, row, x));
    if (place !== undefined) yield { row, place };
  }
}

function sortedRows(rows: RowSource, x: Field): PlacedRow[] {
  return [...placed(rows, x)].toSorted((a, b) => comparePlaces(a.place, b.place));
}

function comparePlaces(a: Place, b: Place): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function readLines(rows: RowSource, { x, y, by, range }: LineRequest): LinePoints[] {
  const sorted = sortedRows(rows, x);
  // The nearest points outside are part of a line, too.
  const margin = marginOf(range);
  const first = sorted.findLastIndex(({ place }) => place < margin.lo);
  const last = sorted.findIndex(({ place }) => place > margin.hi);
  const part = sorted.slice(Math.max(first, 0), last < 0 ? undefined : last + 1);
  const lineOf = (field: Field | undefined, members: readonly PlacedRow[]): LinePoints => ({
    places: members.map(({ place }) => place),
    texts: members.map(({ row }) => (field ? valueText(rows, row, field) : null)),
  });
  if (!by) return y.map((field) => lineOf(field, part));
  return by.values.map((value) =>
    lineOf(
      y[0],
      part.filter(({ row }) => valueText(rows, row, by.field) === value),
    ),
  );
}

function addTo<K>(groups: Map<K, number[]>, key: K, row: number): void {
  const members = groups.get(key);
  if (members) members.push(row);
  else groups.set(key, [row]);
}

function groupsOf(rows: RowSource, field: Field, values: BarValues): Group[] {
  const groups = new Map<string | null, number[]>();
  const count = rows.rowCount.peek();
  for (let row = 0; row < count; row += 1) addTo(groups, valueText(rows, row, field), row);
  return [...groups].map(([key, members]) => groupOf(rows, key?.slice(0, MAX_LABEL) ?? null, members, values));
}

function groupOf(rows: RowSource, key: Group['key'], members: readonly number[], { y, aggregate }: BarValues): Group {
  return { key, rows: members.length, values: y.map((field) => aggregated(rows, members, field, aggregate)) };
}

function aggregated(rows: RowSource, members: readonly number[], field: Field, aggregate: Aggregate): string | null {
  const axis = commonAxis([valueAxisOf(field.type) ?? { kind: 'real' }]);
  const places = members.flatMap((row) => placeFromText(axis, valueText(rows, row, field)) ?? []);
  const [first] = places;
  if (first === undefined) return null;
  if (aggregate === 'min' || aggregate === 'max') {
    const isBetter = aggregate === 'min' ? (a: Place, b: Place) => a < b : (a: Place, b: Place) => a > b;
    return placedText(
      axis,
      places.reduce((best, place) => (isBetter(place, best) ? place : best)),
    );
  }
  if (axis.kind === 'whole') {
    const sum = places.reduce<bigint>((total, place) => total + BigInt(place), 0n);
    return aggregate === 'sum' ? decimalText(sum, axis.scale) : String(meanOf(sum, places.length, axis.scale));
  }
  const sum = places.reduce<number>((total, place) => total + Number(place), 0);
  return String(aggregate === 'sum' ? sum : sum / places.length);
}

/** Returns the mean of exact values: rounded once, at the end. */
export function meanOf(sum: bigint, count: number, scale: number): number {
  const rest = Number(sum % BigInt(count)) / count;
  return (Number(sum / BigInt(count)) + rest) / 10 ** scale;
}

function placedText(axis: Axis, place: Place): string {
  return typeof place === 'bigint' && axis.kind === 'whole' ? decimalText(place, axis.scale) : String(place);
}

function candleOf(rows: RowSource, place: Place, members: readonly number[], ohlc: readonly Field[]): Candle {
  const [open, high = open, low = open, close = open] = ohlc;
  const edge = (field: Field | undefined, from: readonly number[]): string | null =>
    from.flatMap((row) => (field ? (valueText(rows, row, field) ?? []) : []))[0] ?? null;
  return {
    place,
    rows: members.length,
    values: [
      edge(open, members),
      high ? aggregated(rows, members, high, 'max') : null,
      low ? aggregated(rows, members, low, 'min') : null,
      edge(close, members.toReversed()),
    ],
  };
}

function compareBars(a: Group, b: Group): number {
  const [x, y] = [a.values[0], b.values[0]];
  if (a.values.length === 0) return b.rows - a.rows || compareKeys(a, b);
  if (x === null || x === undefined || y === null || y === undefined) {
    return Number(x === null) - Number(y === null) || b.rows - a.rows || compareKeys(a, b);
  }
  return Number(y) - Number(x) || b.rows - a.rows || compareKeys(a, b);
}

function compareKeys(a: Group, b: Group): number {
  if (a.key === b.key) return 0;
  if (a.key === null) return 1;
  if (b.key === null) return -1;
  return a.key < b.key ? -1 : 1;
}
