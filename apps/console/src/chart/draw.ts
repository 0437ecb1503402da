import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { type Axis, distance, placeText, type Range, shifted } from './axis.ts';
import type { ChartData } from './load-chart.ts';
import { type Pixels, pixelsOf, valueRange } from './pixels.ts';
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

/** Draws a chart in an element of a given size. */
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
    // Steps: the width of the plot stays the same while labels change by a digit.
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

/** Draws bars from 0; those of several series stand beside each other. */
function paintBars(u: uPlot, data: ChartData, { xs, ys }: Pixels, colours: ChartColours): void {
  const { ctx } = u;
  const zero = u.valToPos(0, 'y', true);
  const hasBuckets = data.xAxis !== undefined;
  const width = hasBuckets ? shortestGap(xs, u) : u.bbox.width / Math.max(1, xs.length);
  const gap = hasBuckets ? Math.min(2 * devicePixelRatio, width * 0.2) : width * 0.25;
  const each = (width - gap) / Math.max(1, ys.length);
  ctx.save();
  clip(u);
  ys.forEach((values, series) => {
    ctx.fillStyle = colours.series[series % colours.series.length] ?? colours.text;
    values.forEach((value, i) => {
      if (value === null || value === undefined) return;
      // A bucket starts at its place; values stand beside each other.
      const left = hasBuckets ? u.valToPos(xs[i] ?? 0, 'x', true) : u.bbox.left + i * width;
      const top = u.valToPos(value, 'y', true);
      const height = Math.max(1, Math.abs(zero - top));
      ctx.fillRect(left + gap / 2 + series * each, Math.min(zero, top), Math.max(1, each), height);
    });
  });
  ctx.restore();
}

/** Draws candles: hollow where the value rose, filled where it fell, and not only in another colour. */
function paintCandles(u: uPlot, { xs, ys }: Pixels, colours: ChartColours): void {
  const { ctx } = u;
  const [open = [], high = [], low = [], close = []] = ys;
  const width = Math.max(1, Math.min(shortestGap(xs, u) * 0.7, 24 * devicePixelRatio));
  ctx.save();
  clip(u);
  ctx.lineWidth = Math.max(1, devicePixelRatio);
  xs.forEach((x, i) => {
    const [o, h, l, c] = [open[i], high[i], low[i], close[i]];
    if (typeof o !== 'number' || typeof h !== 'number' || typeof l !== 'number' || typeof c !== 'number') return;
    const centre = u.valToPos(x, 'x', true) + width / 2;
    const top = u.valToPos(Math.max(o, c), 'y', true);
    const height = Math.max(1, u.valToPos(Math.min(o, c), 'y', true) - top);
    ctx.strokeStyle = c >= o ? colours.rise : colours.fall;
    ctx.fillStyle = c >= o ? colours.background : colours.fall;
    ctx.beginPath();
    ctx.moveTo(centre, u.valToPos(h, 'y', true));
    ctx.lineTo(centre, u.valToPos(l, 'y', true));
    ctx.stroke();
    ctx.fillRect(centre - width / 2, top, width, height);
    ctx.strokeRect(centre - width / 2, top, width, height);
  });
  ctx.restore();
}

function clip({ ctx, bbox }: uPlot): void {
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
}

/** Returns the shortest distance between two places in pixels: a bar is not wider. */
function shortestGap(xs: readonly number[], u: uPlot): number {
  let gap = Infinity;
  xs.forEach((x, i) => {
    if (i > 0) gap = Math.min(gap, x - (xs[i - 1] ?? 0) || Infinity);
  });
  const scale = u.scales['x'];
  const perUnit = u.bbox.width / ((scale?.max ?? 1) - (scale?.min ?? 0) || 1);
  return Number.isFinite(gap) ? Math.max(1, gap * perUnit) : Math.min(u.bbox.width, 24 * devicePixelRatio);
}

/** The colours of a chart, as a canvas takes them. */
export interface ChartColours {
  readonly text: string;
  readonly line: string;
  readonly background: string;
  readonly series: readonly string[];
  readonly rise: string;
  readonly fall: string;
}

const SERIES = [1, 2, 3, 4, 5, 6].map((number) => `--series-${number}`);

/** Reads the colours from the variables of the page. */
function themeColours(host: HTMLElement): ChartColours {
  // A variable's own value may be light-dark(…); a property's computed value is a colour.
  const probe = document.createElement('span');
  host.append(probe);
  const colourOf = (name: string): string => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const colours = {
    text: colourOf('--text-dim'),
    line: colourOf('--line'),
    background: colourOf('--bg'),
    series: SERIES.map(colourOf),
    rise: colourOf('--rise'),
    fall: colourOf('--fall'),
  };
  probe.remove();
  return colours;
}
