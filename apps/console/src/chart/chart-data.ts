import { type Axis, type Place, type Range } from './axis.ts';
import type { ChartChoice } from '../state/tabs.ts';

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
  /** The axis of the places; undefined if they are values beside each other, which `labels` names. */
  readonly xAxis: Axis | undefined;
  readonly yAxis: Axis;
  /** What is shown. */
  readonly range: Range;
  /** All that there is: undefined if the chart has no range to choose. */
  readonly extent: Range | undefined;
  readonly places: readonly Place[];
  /** The labels of bars: of a value, or of the first and last place of a bucket. */
  readonly labels?: readonly string[];
  readonly series: readonly Series[];
  /** What the reader should know: what is left out, how values were put together. */
  readonly notes: readonly string[];
}

/** Returns lines with places of their own as series that share their places. */
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

/** Returns which points are in the range that is shown; lines have some beside it. */
export function pointsInView({
  places,
  range,
  xAxis,
}: Pick<ChartData, 'places' | 'range' | 'xAxis'>): readonly number[] {
  return places.flatMap((place, at) => (!xAxis || (place >= range.lo && place <= range.hi) ? [at] : []));
}
