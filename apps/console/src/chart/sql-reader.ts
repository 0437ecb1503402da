import type { AnswerTable } from '../api/table.ts';
import { type Axis, axisOf, distance, type Place, placeFrom, type Range, shifted } from './axis.ts';
import { barSql, bucketSql, candleSql, rowCandleSql } from './bar-sql.ts';
import type { ChartReader, Field, LineAnswer, LinePoints, LineRequest } from './chart-reader.ts';
import type { ChartSource } from './chart-source.ts';
import {
  edgesSql,
  extentSql,
  type LineColumns,
  m4Sql,
  pointsInOrderSql,
  seriesSql,
  VALUES_PER_SERIES,
} from './m4-sql.ts';
import { relationOf } from './relation.ts';

/** Runs a statement of a chart. */
export type Ask = (sql: string) => Promise<AnswerTable>;

/** Up to this many rows for each pixel, all rows are read: the picture is the same, and so is every value and gap. */
const ROWS_PER_PIXEL = 2;
/** The most candles that are rows. */
const MAX_ROW_CANDLES = 1000;

/** Creates a reader that runs SQL. Throws what `ask` throws. */
export function createSqlReader(source: ChartSource, ask: Ask): ChartReader {
  const relation = relationOf(source);
  const columnsOf = (x: Field): { relation: typeof relation; axis: Axis; x: Field } => ({
    relation,
    axis: axisOrThrow(x),
    x,
  });
  return {
    async extent(x) {
      const columns = columnsOf(x);
      const [row = []] = (await ask(extentSql(columns))).rows;
      const lo = placeFrom(columns.axis, row[0]);
      const hi = placeFrom(columns.axis, row[1]);
      return lo === undefined || hi === undefined ? undefined : { range: { lo, hi }, rows: Number(row[2]) };
    },
    line: (request) => readLine({ ...columnsOf(request.x), y: request.y, ...byOf(request) }, request, ask),
    async top({ index }, most) {
      const { rows } = await ask(seriesSql(relation, index, most));
      const groups = rows.map(([key, n]) => ({ key: textOf(key), rows: Number(n), values: [] }));
      return { groups, total: Number(rows[0]?.[2] ?? 0) };
    },
    async bars(field, values, most) {
      const { rows } = await ask(barSql(relation, field, values, most));
      const groups = rows.map(([key, n, , ...numbers]) => ({
        key: textOf(key),
        rows: Number(n),
        values: numbers.map(textOf),
      }));
      return { groups, total: Number(rows[0]?.[2] ?? 0) };
    },
    async buckets(x, values, bucket, range) {
      const { rows } = await ask(bucketSql(columnsOf(x), values, bucket, range));
      return rows.map(([key, n, ...numbers]) => ({ key: Number(key), rows: Number(n), values: numbers.map(textOf) }));
    },
    async candles(x, ohlc, bucket, range) {
      const columns = columnsOf(x);
      const { rows } = await ask(
        bucket ? candleSql(columns, ohlc, bucket, range) : rowCandleSql(columns, ohlc, range, MAX_ROW_CANDLES),
      );
      return rows.flatMap(([key, n, ...numbers]) => {
        const place = bucket ? bucket.start(Number(key)) : placeFrom(columns.axis, key);
        const values = numbers.map(textOf);
        const all = values.length === 1 ? [values, values, values, values].flat() : values;
        return place === undefined ? [] : [{ place, rows: Number(n), values: all }];
      });
    },
  };
}

function axisOrThrow({ name, type }: Field): Axis {
  const axis = axisOf(type);
  if (!axis) throw new Error(`The column "${name}" (${type}) has no places on an axis.`);
  return axis;
}

function byOf({ by }: LineRequest): Pick<LineColumns, 'by'> {
  return by ? { by: { index: by.field.index, values: by.values } } : {};
}

/** Returns a value of an answer as text: floats with the fewest digits that read back, all else exactly. */
function textOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

/** Half of the range on both sides: moving by less shows a line at once. */
export function marginOf(range: Range): Range {
  const half = Math.ceil(distance(range.lo, range.hi) / 2);
  const isFinite = Number.isFinite(half) && half < Number.MAX_VALUE / 4;
  return isFinite ? { lo: shifted(range.lo, -half), hi: shifted(range.hi, half) } : range;
}

async function readLine(columns: LineColumns, request: LineRequest, ask: Ask): Promise<LineAnswer> {
  const { range, width, extent } = request;
  const count = columns.by ? columns.by.values.length : columns.y.length;
  const margin = clipped(marginOf(range), extent.range);
  const most = ROWS_PER_PIXEL * width;
  let rows = extent.rows;
  let lines: LinePoints[] = [];
  if (rows > most) {
    const answer = await ask(m4Sql(columns, range, width, margin));
    lines = linesOfPixels(columns, answer.rows, count);
    rows = answer.rows.reduce((sum, row) => sum + Number(row[2]), 0);
  }
  const isWhole = rows <= most;
  // One more than there are: rows that have come since are seen.
  if (isWhole) lines = linesOfRows(columns, (await ask(pointsInOrderSql(columns, margin, most + 1))).rows, count);
  const needsEdges = lines.some(
    ({ places }) =>
      (margin.lo > extent.range.lo && !places.some((place) => place < range.lo)) ||
      (margin.hi < extent.range.hi && !places.some((place) => place > range.hi)),
  );
  if (needsEdges) lines = withEdges(columns, lines, (await ask(edgesSql(columns, margin))).rows);
  return { lines, isWhole };
}

function clipped(range: Range, extent: Range): Range {
  return { lo: range.lo < extent.lo ? extent.lo : range.lo, hi: range.hi > extent.hi ? extent.hi : range.hi };
}

/** Returns the lines of an answer of `m4Sql`. */
export function linesOfPixels(
  { axis, by, y }: Pick<LineColumns, 'axis' | 'by' | 'y'>,
  rows: AnswerTable['rows'],
  count: number,
): LinePoints[] {
  const lines = Array.from({ length: count }, () => createLine());
  for (const [, series, , first, ...values] of rows) {
    y.forEach((_, i) => {
      const line = lines[by ? Number(series) : i];
      const points = pixelPoints(axis, values.slice(i * VALUES_PER_SERIES, (i + 1) * VALUES_PER_SERIES));
      const start = placeFrom(axis, first);
      if (points.length === 0 && start !== undefined) addPoint(line, start, null);
      for (const [place, text] of points) addPoint(line, place, text);
    });
  }
  return lines;
}

/** Returns the first, lowest, highest and last point of a column of pixels, in order; each once. */
function pixelPoints(axis: Axis, values: readonly unknown[]): (readonly [Place, string])[] {
  const points = [0, 2, 4, 6].flatMap((at) => {
    const place = placeFrom(axis, values[at]);
    const text = textOf(values[at + 1]);
    return place === undefined || text === null ? [] : [[place, text] as const];
  });
  const [first, lowest, highest, last] = points;
  if (!first || !lowest || !highest || !last) return [];
  const middle = lowest[0] <= highest[0] ? [lowest, highest] : [highest, lowest];
  return [first, ...middle, last].filter(
    ([place, text], i, all) => i === 0 || place !== all[i - 1]?.[0] || text !== all[i - 1]?.[1],
  );
}

function linesOfRows({ axis, by, y }: LineColumns, rows: AnswerTable['rows'], count: number): LinePoints[] {
  const lines = Array.from({ length: count }, () => createLine());
  for (const [at, series, ...values] of rows) {
    const place = placeFrom(axis, at);
    if (place === undefined) continue;
    y.forEach((_, i) => addPoint(lines[by ? Number(series) : i], place, textOf(values[i])));
  }
  return lines;
}

function withEdges(
  { axis, by, y }: LineColumns,
  lines: readonly LinePoints[],
  rows: AnswerTable['rows'],
): LinePoints[] {
  return lines.map((line, at) => {
    const pointOf = (side: number): readonly [Place, string] | undefined => {
      const row = rows.find(([one, series]) => Number(one) === side && (!by || Number(series) === at));
      const column = 2 + 2 * (by || y.length === 1 ? 0 : at);
      const place = placeFrom(axis, row?.[column]);
      const text = textOf(row?.[column + 1]);
      return place === undefined || text === null ? undefined : [place, text];
    };
    const before = pointOf(0);
    const after = pointOf(1);
    return {
      places: [...(before ? [before[0]] : []), ...line.places, ...(after ? [after[0]] : [])],
      texts: [...(before ? [before[1]] : []), ...line.texts, ...(after ? [after[1]] : [])],
    };
  });
}

interface GrowingLine {
  readonly places: Place[];
  readonly texts: (string | null)[];
}

function createLine(): GrowingLine {
  return { places: [], texts: [] };
}

function addPoint(line: GrowingLine | undefined, place: Place, text: string | null): void {
  line?.places.push(place);
  line?.texts.push(text);
}
