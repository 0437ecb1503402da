import { visibleText } from '../rows/row-source.ts';
import { countOf } from '../state/format.ts';
import type { ChartChoice } from '../state/tabs.ts';
import {
  type Axis,
  axisOf,
  axisOrThrow,
  commonAxis,
  type Place,
  placeFrom,
  placeText,
  type Range,
  textOf,
  valueAxisOf,
  widened,
} from './axis.ts';
import { readLine } from './lines.ts';
import { type Bucket, bucketsOf, wholeBuckets } from './ticks.ts';
import type { ChartReader, Extent, Field, Group, GroupValue } from './chart-reader.ts';
import { type ChosenColumns, MAX_SERIES } from './choose.ts';

/** The most characters of a bar's label. */
export const MAX_LABEL = 200;
/** The most bars of a column's values. */
const MAX_BARS = 50;
const PIXELS_PER_BUCKET = 12;
const PIXELS_PER_CANDLE = 8;
const REAL: Axis = { kind: 'real' };
const COUNT: Axis = { kind: 'whole', scale: 0 };

/** What to load of a chart. */
export interface ChartRequest {
  readonly choice: ChartChoice;
  readonly columns: ChosenColumns;
  /** What is shown; undefined: everything. */
  readonly range: Range | undefined;
  /** The extent of an earlier load of the same columns. */
  readonly extent?: Extent | undefined;
  /** The width of the picture in pixels. */
  readonly width: number;
}

/** A loaded chart. The data are undefined if there is nothing to draw. */
export interface LoadedChart {
  readonly data: ChartData | undefined;
  readonly extent: Extent | undefined;
}

/** Loads what a chart draws. Throws what the reader throws. */
export async function loadChart(reader: ChartReader, request: ChartRequest): Promise<LoadedChart> {
  const { choice, columns } = request;
  const x = choice.kind === 'histogram' ? columns.y[0] : columns.x;
  const axis = x && axisOf(x.type);
  if (x && choice.kind === 'bar' && axis?.kind !== 'time')
    return { data: await loadBars(reader, request, x), extent: undefined };
  if (!x || !axis) return { data: undefined, extent: undefined };
  const extent = request.extent ?? (await reader.extent(x));
  if (!extent) return { data: undefined, extent };
  const range = widened(axis, request.range ?? extent.range);
  const ranged = { ...request, x, axis, extent, range };
  if (choice.kind === 'line') return { data: await loadLine(reader, ranged), extent };
  if (choice.kind === 'ohlc') return { data: await loadCandles(reader, ranged), extent };
  return { data: await loadBuckets(reader, ranged), extent };
}

interface RangedRequest extends ChartRequest {
  readonly x: Field;
  readonly axis: Axis;
  readonly extent: Extent;
  readonly range: Range;
}

async function loadLine(reader: ChartReader, request: RangedRequest): Promise<ChartData> {
  const { columns, x, axis, extent, range, width } = request;
  const notes: string[] = [];
  const first = columns.y.slice(0, 1);
  let by: { readonly field: Field; readonly values: readonly (string | null)[] } | undefined;
  if (columns.by) {
    const { groups, total } = await reader.bars(columns.by, [], MAX_SERIES);
    by = { field: columns.by, values: groups.map(({ key }) => (key === null ? null : String(key))) };
    if (total > groups.length)
      notes.push(
        `The ${groups.length} most frequent of ${countOf(total, 'value')} of ${visibleText(columns.by.name)}.`,
      );
  }
  const y = by ? first : columns.y;
  const { lines, isWhole } = await readLine(reader, { x, y, range, extent, width, ...(by && { by }) });
  if (!isWhole)
    notes.push(`First, lowest, highest and last row of each pixel: the line is the same as through all rows.`);
  const { places, texts } = mergedSeries(lines);
  const labels = by ? by.values.map((value) => visibleText(value ?? 'null')) : y.map(({ name }) => visibleText(name));
  return {
    kind: 'line',
    xName: visibleText(x.name),
    xAxis: axis,
    yAxis: axisOfValues(y),
    range,
    extent: widened(axis, extent.range),
    places,
    series: labels.map((label, i) => ({ label, texts: texts[i] ?? [] })),
    notes,
  };
}

async function loadCandles(reader: ChartReader, request: RangedRequest): Promise<ChartData> {
  const { columns, x, axis, extent, range, width } = request;
  const most = Math.max(10, Math.floor(width / PIXELS_PER_CANDLE));
  const bucket = columns.y.length === 4 && extent.rows <= most ? undefined : bucketsOf(axis, range, most);
  const shown = bucket ? wholeBuckets(bucket, range) : range;
  const candles = await readCandles(reader, { x, ohlc: columns.y, bucket, range: bucket ? shown : extent.range });
  const names = ['open', 'high', 'low', 'close'];
  return {
    kind: 'ohlc',
    xName: visibleText(x.name),
    xAxis: axis,
    yAxis: axisOfValues(columns.y),
    range: shown,
    extent: widened(axis, extent.range),
    places: candles.map(({ place }) => place),
    series: names.map((label, i) => ({ label, texts: candles.map(({ values }) => values[i] ?? null) })),
    notes: bucket ? [`Rows are put together: ${stepText(axis, bucket, range)} each.`] : [],
  };
}

/** The open, high, low and close of a bucket, at the place where it starts or, for a row, at the row's place. */
interface Candle {
  readonly place: Place;
  readonly rows: number;
  readonly values: readonly (string | null)[];
}

const OHLC = ['first', 'max', 'min', 'last'] as const;
/** The most candles of rows. */
const MAX_ROW_CANDLES = 1000;

/** Reads the candles of buckets or, without a bucket, of rows. One column is open, high, low and close at once. */
export async function readCandles(
  reader: ChartReader,
  request: {
    readonly x: Field;
    readonly ohlc: readonly Field[];
    readonly bucket: Bucket | undefined;
    readonly range: Range;
  },
): Promise<readonly Candle[]> {
  const { x, ohlc, bucket, range } = request;
  if (bucket) {
    const values = OHLC.flatMap((aggregate, i) => {
      const field = ohlc[i] ?? ohlc[0];
      return field ? [{ field, aggregate }] : [];
    });
    const groups = await reader.buckets(x, values, bucket, range);
    return groups.map(({ key, ...candle }) => ({ ...candle, place: bucket.start(Number(key)) }));
  }
  const rows = await reader.line({ x, y: ohlc }).points(range, MAX_ROW_CANDLES);
  return rows.flatMap(([at, , ...texts]) => {
    const place = placeFrom(axisOrThrow(x), at);
    const values = OHLC.map((_, i) => textOf(texts.length === 1 ? texts[0] : texts[i]));
    return place === undefined ? [] : [{ place, rows: 1, values }];
  });
}

async function loadBuckets(reader: ChartReader, request: RangedRequest): Promise<ChartData> {
  const { choice, columns, x, axis, extent, range, width } = request;
  const bucket = bucketsOf(axis, range, Math.max(10, Math.floor(width / PIXELS_PER_BUCKET)));
  const shown = wholeBuckets(bucket, range);
  const isCount = choice.kind === 'histogram' || columns.y.length === 0;
  const y = isCount ? [] : columns.y;
  const aggregate = choice.aggregate ?? 'sum';
  // The end of the last bucket is the start of the next one.
  const groups = (await reader.buckets(x, aggregates(y, aggregate), bucket, shown)).filter(
    ({ key }) => bucket.start(Number(key)) < shown.hi,
  );
  const starts = groups.map(({ key }) => bucket.start(Number(key)));
  return {
    kind: choice.kind,
    xName: visibleText(x.name),
    xAxis: axis,
    yAxis: isCount ? COUNT : axisOfAggregates(y, aggregate),
    range: shown,
    extent: widened(axis, extent.range),
    places: starts,
    labels: groups.map(
      ({ key }, i) => `${placeText(axis, starts[i] ?? 0)} to ${placeText(axis, bucket.start(Number(key) + 1))}`,
    ),
    series: isCount ? [countSeries(groups)] : valueSeries(groups, y, aggregate),
    notes: [`Each bar is ${stepText(axis, bucket, range)}, its start included, its end not.`],
  };
}

async function loadBars(
  reader: ChartReader,
  { choice, columns }: ChartRequest,
  x: Field,
): Promise<ChartData | undefined> {
  const aggregate = choice.aggregate ?? 'sum';
  const { groups: found, total } = await reader.bars(x, aggregates(columns.y, aggregate), MAX_BARS, MAX_LABEL);
  const isOrdered = axisOf(x.type) !== undefined;
  const groups = isOrdered ? found.toSorted((a, b) => Number(a.key) - Number(b.key)) : found;
  if (groups.length === 0) return undefined;
  const what =
    columns.y.length === 0 ? 'most rows' : `highest ${aggregate} of ${visibleText(columns.y[0]?.name ?? '')}`;
  return {
    kind: 'bar',
    xName: visibleText(x.name),
    xAxis: undefined,
    yAxis: columns.y.length === 0 ? COUNT : axisOfAggregates(columns.y, aggregate),
    range: { lo: -0.5, hi: groups.length - 0.5 },
    extent: undefined,
    places: groups.map((_, i) => i),
    labels: groups.map(({ key }) => visibleText(key === null ? 'null' : String(key))),
    series: columns.y.length === 0 ? [countSeries(groups)] : valueSeries(groups, columns.y, aggregate),
    notes: total > groups.length ? [`The ${groups.length} of ${countOf(total, 'value')} with the ${what}.`] : [],
  };
}

function aggregates(y: readonly Field[], aggregate: GroupValue['aggregate']): readonly GroupValue[] {
  return y.map((field) => ({ field, aggregate }));
}

function countSeries(groups: readonly Group[]): Series {
  return { label: 'rows', texts: groups.map(({ rows }) => String(rows)) };
}

function valueSeries(groups: readonly Group[], y: readonly Field[], aggregate: string): Series[] {
  return y.map(({ name }, i) => ({
    label: `${aggregate} of ${visibleText(name)}`,
    texts: groups.map(({ values }) => values[i] ?? null),
  }));
}

function axisOfValues(fields: readonly Field[]): Axis {
  return commonAxis(fields.map(({ type }) => valueAxisOf(type) ?? REAL));
}

function axisOfAggregates(fields: readonly Field[], aggregate: string): Axis {
  return aggregate === 'mean' ? REAL : axisOfValues(fields);
}

/** Returns the length of a bucket in words. */
function stepText(axis: Axis, bucket: Bucket, range: Range): string {
  const key = bucket.of(range.lo);
  const [lo, hi] = [bucket.start(key), bucket.start(key + 1)];
  if (typeof lo === 'number' || typeof hi === 'number')
    return String(Number((Number(hi) - Number(lo)).toPrecision(12)));
  if (axis.kind !== 'time') return placeText(axis, hi - lo);
  return lengthText(Number(hi - lo) / (axis.unit === 'us' ? 1e6 : 1e9));
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

/** Returns a length of time in the largest fitting unit. */
export function lengthText(seconds: number): string {
  if (seconds >= 28 * 86_400)
    return seconds >= 364 * 86_400
      ? countOf(Math.round(seconds / 31_556_952), 'year')
      : countOf(Math.round(seconds / 2_629_746), 'month');
  const unit = UNITS.find(([, length]) => seconds >= length && seconds % length === 0);
  return unit ? countOf(seconds / unit[1], unit[0]) : `${seconds} s`;
}

/** A series of a chart: exact texts beside the places. Null is a gap; undefined: no point at this place. */
export interface Series {
  readonly label: string;
  readonly texts: readonly (string | null | undefined)[];
}

/** What a chart draws, before it becomes pixels. */
export interface ChartData {
  readonly kind: ChartChoice['kind'];
  /** The name of the column of the places. */
  readonly xName: string;
  /** The axis of the places; undefined for values beside each other, named by `labels`. */
  readonly xAxis: Axis | undefined;
  readonly yAxis: Axis;
  /** What is shown. */
  readonly range: Range;
  /** The whole range; undefined if the chart has no range to choose. */
  readonly extent: Range | undefined;
  readonly places: readonly Place[];
  /** The labels of bars: of a value, or of the first and last place of a bucket. */
  readonly labels?: readonly string[];
  readonly series: readonly Series[];
  /** What the reader should know: what is left out, how values were put together. */
  readonly notes: readonly string[];
}

/** Merges lines with places of their own into series with common places. */
export function mergedSeries(
  lines: readonly { readonly places: readonly Place[]; readonly texts: readonly (string | null)[] }[],
): { readonly places: readonly Place[]; readonly texts: readonly (readonly (string | null | undefined)[])[] } {
  const [only] = lines;
  if (only && lines.length === 1) return { places: only.places, texts: [only.texts] };
  const places: Place[] = [];
  const texts: (string | null | undefined)[][] = lines.map(() => []);
  const next = lines.map(() => 0);
  for (;;) {
    let place: Place | undefined;
    lines.forEach((line, i) => {
      const candidate = line.places[next[i] ?? 0];
      if (candidate !== undefined && (place === undefined || candidate < place)) place = candidate;
    });
    if (place === undefined) return { places, texts };
    places.push(place);
    lines.forEach((line, i) => {
      const at = next[i] ?? 0;
      const isHere = line.places[at] === place;
      texts[i]?.push(isHere ? line.texts[at] : undefined);
      if (isHere) next[i] = at + 1;
    });
  }
}

/** Returns the points in the shown range; lines have some beside it. */
export function pointsInView({
  places,
  range,
  xAxis,
}: Pick<ChartData, 'places' | 'range' | 'xAxis'>): readonly number[] {
  return places.flatMap((place, at) => (!xAxis || (place >= range.lo && place <= range.hi) ? [at] : []));
}
