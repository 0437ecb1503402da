import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { type Axis, distance, type Range, shifted } from './axis.ts';
import type { ChartData } from './chart-data.ts';
import { paintBars, paintCandles } from './paint.ts';
import { type Pixels, pixelsOf, valueRange } from './pixels.ts';
import { placeText } from './place-text.ts';
import { type ChartColours, themeColours } from './theme-colours.ts';
import { fittingTicks, offsets, ticksOf } from './ticks.ts';

/** A chart on the page. */
export interface Drawing {
  destroy(): void;
}

export interface DrawingOptions {
  /** Called when the user has marked a part of the x axis. */
  readonly onZoom: (range: Range) => void;
  /** Called with the width of the drawn area in pixels of the screen. */
  readonly onPlotWidth: (width: number) => void;
}

/** Narrower marks are slips of the hand. */
const MIN_ZOOM_PX = 5;
const LEGEND_HEIGHT = 32;
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 4], [5, 2]];

/** Draws a chart in an element, which has its size from the page. */
export function createDrawing(host: HTMLElement, data: ChartData, options: DrawingOptions): Drawing {
  const pixels = pixelsOf(data);
  const plot = new uPlot(plotOptions(host, data, pixels, options), toAligned(pixels), host);
  options.onPlotWidth(Math.round(plot.bbox.width));
  return { destroy: () => plot.destroy() };
}

function toAligned({ xs, ys }: Pixels): uPlot.AlignedData {
  return [[...xs], ...ys.map((values) => [...values])];
}

function plotOptions(host: HTMLElement, data: ChartData, pixels: Pixels, options: DrawingOptions): uPlot.Options {
  const colours = themeColours(host);
  const { kind, range } = data;
  const isZoomable = data.extent !== undefined;
  const { xUnit } = pixels;
  const width = distance(range.lo, range.hi, xUnit);
  return {
    width: Math.max(160, host.clientWidth),
    height: Math.max(120, host.clientHeight - LEGEND_HEIGHT),
    padding: [12, 16, null, null],
    cursor: { drag: { setScale: false, x: isZoomable, y: false }, points: { show: kind === 'line' } },
    scales: {
      x: { time: false, range: [0, width] },
      y: { range: (_, min, max) => valueRange(kind, min, max) },
    },
    axes: [xAxisOptions(data, pixels, colours), yAxisOptions(data, pixels, colours)],
    series: [
      { label: data.xName, value: (_, __, ___, at) => xText(data, at) },
      ...data.series.map((series, i): uPlot.Series => ({
        label: series.label,
        stroke: colours.series[i % colours.series.length] ?? colours.text,
        width: 1.5 * devicePixelRatio > 2 ? 2 : 1.5,
        dash: DASHES[i % DASHES.length] ?? [],
        points: { show: kind === 'line' && data.places.length < 60 },
        value: (_, __, ___, at) => (at === null ? '' : (series.texts[at] ?? 'null')),
        ...(kind !== 'line' && { paths: () => null, points: { show: false } }),
      })),
    ],
    hooks: {
      draw: [(u) => paint(u, data, pixels, colours)],
      setSelect: [
        (u) => {
          if (u.select.width < MIN_ZOOM_PX) return;
          const lo = shifted(range.lo, u.posToVal(u.select.left, 'x'), xUnit);
          const hi = shifted(range.lo, u.posToVal(u.select.left + u.select.width, 'x'), xUnit);
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          options.onZoom({ lo, hi });
        },
      ],
    },
  };
}

function paint(u: uPlot, data: ChartData, pixels: Pixels, colours: ChartColours): void {
  if (data.kind === 'ohlc') paintCandles(u, pixels, colours);
  else if (data.kind !== 'line') paintBars(u, data, pixels, colours);
}

function xText({ labels, xAxis, places }: ChartData, at: number | null): string {
  if (at === null) return '';
  const place = places[at];
  return labels?.[at] ?? (xAxis && place !== undefined ? placeText(xAxis, place) : '');
}

const PX_PER_TIME = 90;
const PX_PER_LABEL = 14;
const PX_PER_CHARACTER = 7;

function xAxisOptions(data: ChartData, { xUnit }: Pixels, colours: ChartColours): uPlot.Axis {
  const { xAxis, range, labels } = data;
  const common = { ...axisColours(colours), size: 46 };
  if (!xAxis) {
    const each = (u: uPlot): number => u.bbox.width / devicePixelRatio / Math.max(1, data.places.length);
    return {
      ...common,
      grid: { show: false },
      splits: (u) => {
        const step = Math.max(1, Math.ceil((PX_PER_LABEL * 4) / each(u)));
        return data.places.flatMap((_, i) => (i % step === 0 ? [i + 0.5] : []));
      },
      values: (u, splits) =>
        splits.map((split) => shortened(labels?.[Math.floor(split)] ?? '', Math.max(each(u), PX_PER_LABEL * 4))),
    };
  }
  const ticks = (u: uPlot): ReturnType<typeof ticksOf> =>
    ticksOf(xAxis, range, fittingTicks(u.bbox.width / devicePixelRatio, PX_PER_TIME));
  return { ...common, splits: (u) => offsets(range.lo, ticks(u).places, xUnit), values: (u) => [...ticks(u).labels] };
}

function shortened(text: string, pixels: number): string {
  const most = Math.max(3, Math.floor(pixels / PX_PER_CHARACTER));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function yAxisOptions({ yAxis }: ChartData, pixels: Pixels, colours: ChartColours): uPlot.Axis {
  const ticks = (u: uPlot, lo: number, hi: number): ReturnType<typeof ticksOf> =>
    ticksOf(yAxis, valuePlaces(yAxis, pixels, lo, hi), fittingTicks(u.bbox.height / devicePixelRatio, 45));
  return {
    ...axisColours(colours),
    splits: (u, _, lo, hi) => offsets(pixels.yBase, ticks(u, lo, hi).places, pixels.yUnit),
    values: (u) => [...ticks(u, u.scales['y']?.min ?? 0, u.scales['y']?.max ?? 1).labels],
    // Steps, so that the width of the plot stays the same while labels change by a digit.
    size: (_, values) => {
      const longest = Math.max(4, ...(values ?? []).map((text) => text.length));
      return Math.min(220, 24 * Math.ceil((longest * PX_PER_CHARACTER + 20) / 24));
    },
  };
}

function valuePlaces(axis: Axis, { yBase, yUnit }: Pixels, lo: number, hi: number): Range {
  if (axis.kind === 'real') return { lo: shifted(0, lo, yUnit), hi: shifted(0, hi, yUnit) };
  return { lo: shifted(yBase, Math.ceil(lo)), hi: shifted(yBase, Math.floor(hi)) };
}

function axisColours({ text, line }: ChartColours): Pick<uPlot.Axis, 'stroke' | 'grid' | 'ticks' | 'font'> {
  const stroke = { stroke: line, width: 1 };
  return { stroke: text, grid: stroke, ticks: stroke, font: '12px system-ui, sans-serif' };
}
