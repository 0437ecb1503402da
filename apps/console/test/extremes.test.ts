import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { distance, moved, type Range } from '../src/chart/axis.ts';
import { type ChartData, loadChart } from '../src/chart/load-chart.ts';
import type { ChartSource } from '../src/chart/chart-reader.ts';
import { chosenColumns, type ChosenColumns } from '../src/chart/choose.ts';
import { createMemoryReader, createSlices } from '../src/chart/memory-reader.ts';
import { pixelsOf, valueRange } from '../src/chart/pixels.ts';
import { createSqlReader } from '../src/chart/sql-reader.ts';
import { ticksOf } from '../src/chart/ticks.ts';
import { filterSql, sortSql } from '../src/grid/sql-commands.ts';
import type { ChartChoice } from '../src/state/tabs.ts';
import { summarise } from '../src/chart/summarise.ts';
import { type Engine, rowsInMemory, startEngine } from './engine.ts';

const ends: (() => Promise<void>)[] = [];
let engine: Engine;
let source: ChartSource;
let inMemory: ChartSource;

const ROWS = 40;

beforeAll(async () => {
  engine = await startEngine((end) => ends.push(end));
  source = await engine.frame(
    'extremes',
    `select case i when 0 then timestamp '290000-01-01 (BC) 00:00:00' else timestamp '294000-06-15 12:00:00' - to_days((i * 5000000)::int) end as t,
      (case i % 3 when 0 then -1.7e308 when 1 then 1.7e308 else 1e300 * i end)::double as huge,
      (5e-324 * (i % 7))::double as tiny,
      (case i % 2 when 0 then 9223372036854775807 else -9223372036854775808 end)::bigint as long,
      i as n, ((i - 20) / 20 * 1.7e308)::double as spread
    from range(${ROWS}) x(i)`,
  );
  inMemory = { ...source, rows: await rowsInMemory(source, engine.ask) };
});
afterAll(() => Promise.all(ends.map((end) => end())));

async function load(choice: ChartChoice, range?: Range): Promise<ChartData> {
  const columns = chosenColumns(choice, source.columns) as ChosenColumns;
  const request = { choice, columns, range, width: 300 };
  const { data } = await loadChart(createSqlReader(source, engine.ask), request);
  const other = await loadChart(createMemoryReader(inMemory.rows!, createSlices()), request);
  expect(sorted(data!)).toEqual(sorted(other.data!));
  return data!;
}

/** Points with one place have no order. */
function sorted(data: ChartData): unknown {
  const series = data.series.map(({ label, texts }) => ({ label, texts: new Set(texts) }));
  return data.kind === 'line' ? { ...data, series } : data;
}

/** Checks that all points, the axes and their marks have a place on the page. */
function expectDrawable(data: ChartData): void {
  const { xs, ys, xUnit } = pixelsOf(data);
  const all = ys.flat().filter((value): value is number => typeof value === 'number');
  const [lo, hi] = all.length > 0 ? valueRange(data.kind, Math.min(...all), Math.max(...all)) : [0, 1];
  const width = distance(data.range.lo, data.range.hi, xUnit);
  expect([data.kind, width > 0, Number.isFinite(width), hi > lo, Number.isFinite(hi - lo)]).toEqual([
    data.kind,
    true,
    true,
    true,
    true,
  ]);
  expect(xs.every(Number.isFinite)).toBe(true);
  expect(all.every((value) => value >= lo && value <= hi)).toBe(true);
  if (data.xAxis) {
    const { places, labels } = ticksOf(data.xAxis, data.range, 6);
    expect(places.length).toBeGreaterThan(1);
    expect(places.length).toBeLessThanOrEqual(8);
    expect(new Set(labels).size).toBe(labels.length);
  }
}

const CHOICES: [string, ChartChoice][] = [
  ...(['huge', 'tiny', 'long', 'n', 'spread'] as const).map((y): [string, ChartChoice] => [
    `a line of ${y} over ±290 000 years`,
    { kind: 'line', x: 't', y: [y] },
  ]),
  ...(['huge', 'tiny', 'long', 'spread'] as const).map((x): [string, ChartChoice] => [
    `a line over ${x}`,
    { kind: 'line', x, y: ['n'] },
  ]),
  ...(['t', 'huge', 'tiny', 'long', 'spread'] as const).map((y): [string, ChartChoice] => [
    `a histogram of ${y}`,
    { kind: 'histogram', y: [y] },
  ]),
  ['bars over time', { kind: 'bar', x: 't', y: ['n'] }],
  ['bars of huge sums', { kind: 'bar', x: 'n', y: ['spread'] }],
  ['candles over time', { kind: 'ohlc', x: 't', y: ['spread'] }],
];

describe('the most extreme values', () => {
  test.each(CHOICES)('are drawn: %s', async (_, choice) => {
    const data = await load(choice);
    expectDrawable(data);
    expect(data.places.length).toBeGreaterThan(0);
    if (!data.extent) return;
    // In and out again, as far as it goes.
    for (const move of ['in', 'in', 'left', 'right', 'out'] as const) {
      const range = moved(data.range, data.extent, move);
      if (range) expectDrawable({ ...(await load(choice, range)), kind: data.kind });
    }
  });

  test('have a summary', async () => {
    for (const [index, { name }] of source.columns.entries()) {
      const summary = await summarise(source, index, engine);
      const other = await summarise(inMemory, index, engine);
      expect({ name, ...summary, mean: '' }).toEqual({ name, ...other, mean: '' });
      expect([name, summary.histogram?.counts.reduce((sum, count) => sum + count, 0) ?? ROWS]).toEqual([name, ROWS]);
      expect(summary.histogram?.counts.length ?? 0).toBeLessThan(60);
    }
  });
});

test('rows are sorted and filtered by one of two columns whose names differ only in case', async () => {
  const body = JSON.stringify([
    { A: 1, a: 5 },
    { A: 2, a: 4 },
  ]);
  const headers = { 'content-type': 'application/json' };
  await engine.api.send({ method: 'PUT', path: 'frames/twins', headers, body });
  const columns = ['A', 'a'].map((name) => ({ name, type: 'LONG' }));
  const twins = { from: 'twins', columns, engine: 'local' } as const;
  expect((await engine.ask(sortSql(twins, 0))).rows).toEqual([
    ['2', '4'],
    ['1', '5'],
  ]);
  expect((await engine.ask(filterSql(twins, 1, { look: 'value', text: '5' })!)).rows).toEqual([['1', '5']]);
});
