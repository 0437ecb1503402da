import type uPlot from 'uplot';
import type { ChartData } from './chart-data.ts';
import type { Pixels } from './pixels.ts';
import type { ChartColours } from './theme-colours.ts';

/** Draws bars from 0; those of several series stand beside each other. */
export function paintBars(u: uPlot, data: ChartData, { xs, ys }: Pixels, colours: ChartColours): void {
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

/** Draws candles: hollow where the value rose, filled where it fell, so that not only the colour tells. */
export function paintCandles(u: uPlot, { xs, ys }: Pixels, colours: ChartColours): void {
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
