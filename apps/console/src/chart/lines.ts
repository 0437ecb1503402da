import type { AnswerTable } from '../api/statements.ts';
import { type Axis, axisOrThrow, lengthPart, type Place, placeFrom, type Range, shifted, textOf } from './axis.ts';
import type { ChartReader, LineRequest } from './chart-reader.ts';
import { VALUES_PER_SERIES } from './chart-sql.ts';

/** The points of a line in the order of their places. The text is the exact value; null is a gap. */
export interface LinePoints {
  readonly places: readonly Place[];
  readonly texts: readonly (string | null)[];
}

/** The lines; `isWhole` if they have every row of the range. */
interface LineAnswer {
  readonly lines: readonly LinePoints[];
  readonly isWhole: boolean;
}

type Rows = AnswerTable['rows'];

/** The axis of a line, its columns, and the column splitting it. */
interface LineShape {
  readonly axis: Axis;
  readonly y: { readonly length: number };
  readonly by?: { readonly values: readonly (string | null)[] } | undefined;
}

/** Up to this many rows for each pixel, all rows are read: the picture is the same, and so is every value and gap. */
const ROWS_PER_PIXEL = 2;

/** Reads a line: all points if there are few, else four of each column of pixels, with the same picture. */
export async function readLine(reader: ChartReader, request: LineRequest): Promise<LineAnswer> {
  const { x, y, by, range, width, extent } = request;
  const source = reader.line(request);
  const shape = { axis: axisOrThrow(x), y, by };
  const margin = clipped(marginOf(range), extent.range);
  const most = ROWS_PER_PIXEL * width;
  let rows = extent.rows;
  let lines: LinePoints[] = [];
  if (rows > most) {
    const answer = await source.pixels(range, width, margin);
    lines = linesOfPixels(shape, answer);
    rows = answer.reduce((sum, row) => sum + Number(row[2]), 0);
  }
  const isWhole = rows <= most;
  // One more than there are: new rows are seen.
  if (isWhole) lines = linesOfRows(shape, await source.points(margin, most + 1));
  const needsEdges = lines.some(
    ({ places }) =>
      (margin.lo > extent.range.lo && !places.some((place) => place < range.lo)) ||
      (margin.hi < extent.range.hi && !places.some((place) => place > range.hi)),
  );
  if (needsEdges) lines = withEdges(shape, lines, await source.edges(margin));
  return { lines, isWhole };
}

/** Half of the range on both sides: moving by less shows a line at once. */
function marginOf(range: Range): Range {
  const part = lengthPart(range, 1 / 2);
  const half = typeof range.lo === 'bigint' ? Math.ceil(part) : part;
  return { lo: shifted(range.lo, -half), hi: shifted(range.hi, half) };
}

function clipped(range: Range, extent: Range): Range {
  return { lo: range.lo < extent.lo ? extent.lo : range.lo, hi: range.hi > extent.hi ? extent.hi : range.hi };
}

/** Returns the lines of an answer of `m4Sql`. */
export function linesOfPixels(shape: LineShape, rows: Rows): LinePoints[] {
  const lines = createLines(shape);
  for (const [, series, , first, ...values] of rows) {
    for (let i = 0; i < shape.y.length; i += 1) {
      const line = lines[shape.by ? Number(series) : i];
      const points = pixelPoints(shape.axis, values.slice(i * VALUES_PER_SERIES, (i + 1) * VALUES_PER_SERIES));
      const start = placeFrom(shape.axis, first);
      if (points.length === 0 && start !== undefined) addPoint(line, start, null);
      for (const [place, text] of points) addPoint(line, place, text);
    }
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

function linesOfRows(shape: LineShape, rows: Rows): LinePoints[] {
  const lines = createLines(shape);
  for (const [at, series, ...values] of rows) {
    const place = placeFrom(shape.axis, at);
    if (place === undefined) continue;
    for (let i = 0; i < shape.y.length; i += 1) {
      addPoint(lines[shape.by ? Number(series) : i], place, textOf(values[i]));
    }
  }
  return lines;
}

function withEdges({ axis, by, y }: LineShape, lines: readonly LinePoints[], rows: Rows): LinePoints[] {
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

function createLines({ by, y }: LineShape): GrowingLine[] {
  return Array.from({ length: by ? by.values.length : y.length }, () => ({ places: [], texts: [] }));
}

function addPoint(line: GrowingLine | undefined, place: Place, text: string | null): void {
  line?.places.push(place);
  line?.texts.push(text);
}
