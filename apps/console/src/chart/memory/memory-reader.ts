import type { MemoryRows } from '../../rows/memory-rows.ts';
import { axisOf, isFloat, type Place, type Range } from '../axis.ts';
import { MAX_LABEL } from '../bar-sql.ts';
import type { Bucket } from '../bucket.ts';
import type { Candle, ChartReader, Field, Group } from '../chart-reader.ts';
import { readLine } from '../line-reader.ts';
import {
  type Accumulator,
  accumulators,
  compareBars,
  compareCounts,
  createGroups,
  firstGroups,
} from './memory-groups.ts';
import { createMemoryLines } from './memory-lines.ts';
import { comparePlaces } from '../place-text.ts';
import type { Slices } from './slices.ts';
import { placeReader, textReader } from './value-text.ts';

/** Creates a reader of rows in memory. It works in slices, and throws if they were cancelled. */
export function createMemoryReader(rows: MemoryRows, slices: Slices): ChartReader {
  const count = rows.rowCount.peek();
  const groupsOf = async (field: Field, values: Parameters<ChartReader['bars']>[1]): Promise<Group[]> => {
    const groups = createGroups<string | null>(rows, values);
    await slices.forEach(count, (row) => {
      const text = rows.text(row, field.index);
      // Both zeros are one number.
      groups.add(isFloat(field.type) && text === '-0' ? '0' : text, row);
    });
    return groups.all();
  };
  return {
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
    async line(request) {
      const { x, y, by } = request;
      const places = await placesOf(rows, x, slices);
      const shape = { axis: axisOf(x.type) ?? ({ kind: 'real' } as const), y, by };
      return readLine(shape, request, createMemoryLines(rows, places, request, slices));
    },
    async top(field, most) {
      const groups = await groupsOf(field, { y: [], aggregate: 'sum' });
      return { groups: firstGroups(groups, compareCounts, most), total: groups.length };
    },
    async bars(field, values, most) {
      const groups = await groupsOf(field, values);
      const compare = values.y.length > 0 ? compareBars : compareCounts;
      const first = firstGroups(groups, compare, most);
      return {
        groups: first.map((group) => ({
          ...group,
          key: typeof group.key === 'string' ? group.key.slice(0, MAX_LABEL) : null,
        })),
        total: groups.length,
      };
    },
    async buckets(x, values, bucket, range) {
      const places = await placesOf(rows, x, slices);
      const groups = createGroups<number>(rows, values);
      await slices.forEach(count, (row) => {
        const place = places[row];
        if (place !== undefined && place >= range.lo && place <= range.hi) groups.add(bucket.of(place), row);
      });
      return groups.all().toSorted((a, b) => Number(a.key) - Number(b.key));
    },
    async candles(x, ohlc, bucket, range) {
      return readCandles(rows, await placesOf(rows, x, slices), { ohlc, bucket, range }, slices);
    },
  };
}

/** The places of columns that were read: a chart asks for those of its x axis at every zoom. */
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

interface GrowingCandle {
  rows: number;
  open: { readonly place: Place; readonly text: string } | undefined;
  close: { readonly place: Place; readonly text: string } | undefined;
  readonly high: Accumulator | undefined;
  readonly low: Accumulator | undefined;
}

async function readCandles(
  rows: MemoryRows,
  places: readonly (Place | undefined)[],
  request: { readonly ohlc: readonly Field[]; readonly bucket: Bucket | undefined; readonly range: Range },
  slices: Slices,
): Promise<Candle[]> {
  const { ohlc, bucket, range } = request;
  const [open, high = open, low = open, close = open] = ohlc;
  const openOf = open && textReader(rows, open);
  const closeOf = close && textReader(rows, close);
  const createHigh = high && accumulators(rows, high, 'max');
  const createLow = low && accumulators(rows, low, 'min');
  const candles = new Map<number, GrowingCandle & { readonly place: Place }>();
  await slices.forEach(places.length, (row) => {
    const place = places[row];
    if (place === undefined || place < range.lo || place > range.hi) return;
    // Without buckets, each row is a candle.
    const key = bucket ? bucket.of(place) : row;
    let candle = candles.get(key);
    if (!candle) {
      const start = bucket ? bucket.start(key) : place;
      candle = { place: start, rows: 0, open: undefined, close: undefined, high: createHigh?.(), low: createLow?.() };
      candles.set(key, candle);
    }
    candle.rows += 1;
    candle.high?.add(row);
    candle.low?.add(row);
    const first = candle.open && candle.open.place <= place ? undefined : openOf?.(row);
    if (typeof first === 'string') candle.open = { place, text: first };
    const last = candle.close && candle.close.place > place ? undefined : closeOf?.(row);
    if (typeof last === 'string') candle.close = { place, text: last };
  });
  return [...candles.values()]
    .toSorted((a, b) => comparePlaces(a.place, b.place))
    .map((candle) => ({
      place: candle.place,
      rows: candle.rows,
      values: [
        candle.open?.text ?? null,
        candle.high?.result() ?? null,
        candle.low?.result() ?? null,
        candle.close?.text ?? null,
      ],
    }));
}
