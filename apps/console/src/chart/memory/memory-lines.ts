import type { AnswerTable } from '../../api/table.ts';
import type { MemoryRows } from '../../rows/memory-rows.ts';
import { type Axis, distance, type Place, type Range, unitOf, valueAxisOf } from '../axis.ts';
import type { Field, LineRequest } from '../chart-reader.ts';
import type { LineSource } from '../line-reader.ts';
import { comparePlaces, placeFromText } from '../place-text.ts';
import type { Slices } from './slices.ts';
import { textReader } from './value-text.ts';

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
export function createMemoryLines(
  rows: MemoryRows,
  places: readonly (Place | undefined)[],
  { y, by, range, width }: LineRequest,
  slices: Slices,
): LineSource {
  const valuesOf = y.map((field) => pointReader(rows, field));
  const numbers = by && new Map(by.values.map((value, number) => [value, number] as const));
  const splitOf = by && textReader(rows, by.field);
  /** The number of a row's series; undefined if it is not drawn. */
  const seriesOf = (row: number): number | undefined => (splitOf ? numbers?.get(splitOf(row)) : 0);

  async function forEachRow(
    isWanted: (place: Place) => boolean,
    visit: (row: number, place: Place, series: number) => void,
  ): Promise<void> {
    await slices.forEach(places.length, (row) => {
      const place = places[row];
      if (place === undefined || !isWanted(place)) return;
      const series = seriesOf(row);
      if (series !== undefined) visit(row, place, series);
    });
  }

  return {
    async pixels(margin) {
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
