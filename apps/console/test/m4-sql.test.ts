import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { axisOf, distance, type Place, placeFromText, type Range, shifted } from '../src/chart/axis.ts';
import type { ChartReader, ChartSource } from '../src/chart/chart-reader.ts';
import { type LinePoints, linesOfPixels, readLine } from '../src/chart/lines.ts';
import { createSqlReader } from '../src/chart/sql-reader.ts';
import { extentSql, m4Sql, relationOf } from '../src/chart/chart-sql.ts';
import { createMemoryReader, createSlices, textReader } from '../src/chart/memory-reader.ts';
import type { MemoryRows } from '../src/rows/row-source.ts';
import { type Engine, fieldOf, rowsInMemory, startEngine } from './engine.ts';

const ROWS = 1800;
const WIDTH = 60;
const ends: (() => Promise<void>)[] = [];
let engine: Engine;
let source: ChartSource;
let rows: MemoryRows;
let memory: ChartReader;

beforeAll(async () => {
  engine = await startEngine((end) => ends.push(end));
  // Rows in no order. Places are all different; values are, too, so that each point is the only one of its kind.
  source = await engine.frame(
    'points',
    `select timestamp '2024-01-01' + to_microseconds((i * 7000001 + hash(i) % 5000000)::bigint) as t,
      make_timestamp_ns(1704067200000000001 + (i * 1009 + hash(i) % 1000)::bigint) as n,
      (9007199254740993 + i * 3)::bigint as l, (18446744073709551615::hugeint - i * 5)::ubigint as u,
      (i * 0.0007 - 2)::decimal(18, 4) as d, case i % 211 when 0 then 'nan' else i / 7.0 - 300 end::double as r,
      date '1960-01-01' + (i * 3)::int as day, (i * 170141183460469231731687303715::hugeint) as big,
      case when i % 97 = 0 then null when i % 101 = 0 then 'nan'::double
        else sin(i / 90.0) * 40 + (hash(i) % 1000003)::double / 50000 end as v,
      (hash(i + 5) % 1000000007)::decimal(38, 6) * 1.5 as w, case i % 3 when 0 then null when 1 then 'one' else 'it''s' end as s
    from range(${ROWS}) x(i) order by hash(i)`,
  );
  rows = await rowsInMemory(source, engine.ask);
  memory = createMemoryReader(rows, createSlices());
});
afterAll(() => Promise.all(ends.map((end) => end())));

/** The points of a column by brute force, in order. */
function allPoints(xName: string, yName: string): { place: Place; text: string }[] {
  const x = fieldOf(source, xName);
  const y = fieldOf(source, yName);
  const points = Array.from({ length: ROWS }, (_, row) => ({
    place: placeFromText(axisOf(x.type)!, textReader(rows, x)(row)),
    text: textReader(rows, y)(row),
  }));
  return points
    .filter((point): point is { place: Place; text: string } => point.place !== undefined && point.text !== null)
    .toSorted((a, b) => (a.place < b.place ? -1 : 1));
}

function columnOf({ lo, hi }: Range, place: Place, width: number): number {
  if (typeof place === 'number') return Math.floor(((place - Number(lo)) / (Number(hi) - Number(lo))) * width);
  const product = (place - (lo as bigint)) * BigInt(width);
  const length = (hi as bigint) - (lo as bigint);
  return Number(product >= 0n ? product / length : (product - (length - 1n)) / length);
}

/** First, lowest, highest and last of each column of pixels, each point once, by brute force. */
function expectedLine(points: readonly { place: Place; text: string }[], range: Range, width: number): LinePoints {
  const columns = new Map<number, { place: Place; text: string }[]>();
  for (const point of points) {
    const column = columnOf(range, point.place, width);
    columns.set(column, [...(columns.get(column) ?? []), point]);
  }
  const kept = [...columns.values()].flatMap((members) => {
    const byValue = members.toSorted((a, b) => Number(a.text) - Number(b.text));
    const chosen = new Set([members[0], byValue[0]!, byValue.at(-1)!, members.at(-1)]);
    return members.filter((member) => chosen.has(member));
  });
  return { places: kept.map(({ place }) => place), texts: kept.map(({ text }) => text) };
}

/** How far up and down a line reaches in each column of pixels. */
function covered(line: LinePoints, range: Range, width: number): [number, number][] {
  const columns = Array.from({ length: width }, (): [number, number] => [Infinity, -Infinity]);
  const scale = width / distance(range.lo, range.hi);
  const xs = line.places.map((place) => distance(range.lo, place) * scale);
  const ys = line.texts.map(Number);
  for (let i = 1; i < xs.length; i += 1) {
    const [x0, x1, y0, y1] = [xs[i - 1], xs[i], ys[i - 1], ys[i]];
    const at = (x: number): number => (x1 === x0 ? y1 : y0 + ((y1 - y0) * (x - x0)) / (x1 - x0));
    for (let c = Math.max(0, Math.floor(x0)); c <= Math.min(width - 1, Math.floor(x1)); c += 1) {
      const heights = [at(Math.max(x0, c)), at(Math.min(x1, c + 1)), ...(x1 === x0 ? [y0, y1] : [])];
      columns[c] = [Math.min(columns[c][0], ...heights), Math.max(columns[c][1], ...heights)];
    }
  }
  return columns;
}

const AXES = ['t', 'n', 'l', 'u', 'd', 'r', 'day', 'big'];
const PARTS = [
  ['all', 0, 1],
  ['a part', 0.31, 0.72],
  ['a small part', 0.5, 0.51],
] as const;

describe.each(AXES)('M4 over the column %s', (xName) => {
  test.each(PARTS)('is what brute force finds, for %s of the range', async (_, from, to) => {
    const x = fieldOf(source, xName);
    const axis = axisOf(x.type)!;
    const y = ['v', 'w'].map((name) => fieldOf(source, name));
    const columns = { relation: relationOf(source), axis, x, y };
    const extent = (await createSqlReader(source, engine.ask).extent(x))!;
    expect(extent).toEqual(await memory.extent(x));
    const length = distance(extent.range.lo, extent.range.hi);
    const range =
      from === 0
        ? extent.range
        : { lo: shifted(extent.range.lo, length * from), hi: shifted(extent.range.lo, length * to) };
    const answer = await engine.ask(m4Sql(columns, range, WIDTH, range));
    const lines = linesOfPixels(columns, answer.rows);
    for (const [i, line] of lines.entries()) {
      const points = allPoints(xName, y[i].name).filter(({ place }) => place >= range.lo && place <= range.hi);
      const known = line.places.flatMap((place, at) =>
        line.texts[at] === null ? [] : [{ place, text: line.texts[at] }],
      );
      expect(points.length).toBeGreaterThan(10);
      expect(known).toEqual(pairs(expectedLine(points, range, WIDTH)));
    }
  });
});

function pairs({ places, texts }: LinePoints): { place: Place; text: string | null }[] {
  return places.map((place, i) => ({ place, text: texts[i]! }));
}

test('a line through the points of M4 covers the same pixels as a line through all points', async () => {
  const x = fieldOf(source, 't');
  const y = [fieldOf(source, 'v')];
  const reader = createSqlReader(source, engine.ask);
  const extent = (await reader.extent(x))!;
  const range = {
    lo: shifted(extent.range.lo, distance(extent.range.lo, extent.range.hi) * 0.2),
    hi: shifted(extent.range.lo, distance(extent.range.lo, extent.range.hi) * 0.9),
  };
  const { lines, isWhole } = await readLine(reader, { x, y, range, extent, width: WIDTH });
  expect(isWhole).toBe(false);
  const all = allPoints('t', 'v');
  const picture = covered(lines[0], range, WIDTH);
  const expected = covered({ places: all.map(({ place }) => place), texts: all.map(({ text }) => text) }, range, WIDTH);
  expect(lines[0].places.length).toBeLessThan(all.length / 2);
  picture.forEach(([lo, hi], i) => {
    expect(lo).toBeCloseTo(expected[i][0], 9);
    expect(hi).toBeCloseTo(expected[i][1], 9);
  });
});

test('few rows are read as they are, with their gaps, and with the points on both sides', async () => {
  const x = fieldOf(source, 'l');
  const y = [fieldOf(source, 'v'), fieldOf(source, 'w')];
  const reader = createSqlReader(source, engine.ask);
  const extent = (await reader.extent(x))!;
  const range = { lo: shifted(extent.range.lo, 900), hi: shifted(extent.range.lo, 1200) };
  const request = { x, y, range, extent, width: 200 };
  const answer = await readLine(reader, request);
  expect(answer.isWhole).toBe(true);
  for (const [i, { places, texts }] of answer.lines.entries()) {
    const expected = allPoints('l', y[i].name).filter(({ place }) => place >= places[0] && place <= places.at(-1)!);
    expect(pairs({ places, texts }).filter(({ text }) => text !== null)).toEqual(expected);
    expect(places[0] < range.lo).toBe(true);
    expect(places.at(-1)! > range.hi).toBe(true);
  }
  expect(answer.lines[0].texts).toContain(null);
});

test.each([
  ['all', 't', ['v', 'w'], 0, 1],
  ['a part', 't', ['v', 'w'], 0.31, 0.72],
  ['a part', 'r', ['v'], 0.31, 0.72],
  ['a part with few rows', 'd', ['w', 'v'], 0.5, 0.52],
  ['a part without rows', 'l', ['w', 'v'], 0.50001, 0.50002],
] as const)('SQL and rows in memory agree on the lines of %s of the range of %s', async (_, xName, names, from, to) => {
  const x = fieldOf(source, xName);
  const y = names.map((name) => fieldOf(source, name));
  const reader = createSqlReader(source, engine.ask);
  const extent = (await reader.extent(x))!;
  const length = distance(extent.range.lo, extent.range.hi);
  const range = { lo: shifted(extent.range.lo, length * from), hi: shifted(extent.range.lo, length * to) };
  const request = { x, y, range, extent, width: WIDTH };
  const answer = await readLine(reader, request);
  expect(answer).toEqual(await readLine(memory, request));
  const by = { field: fieldOf(source, 's'), values: ['one', null] };
  expect(await readLine(reader, { ...request, y: y.slice(0, 1), by })).toEqual(
    await readLine(memory, { ...request, y: y.slice(0, 1), by }),
  );
});

test('a range between two rows has the point before and the point after it', async () => {
  const x = fieldOf(source, 'l');
  const y = [fieldOf(source, 'w')];
  const reader = createSqlReader(source, engine.ask);
  const extent = (await reader.extent(x))!;
  const lo = BigInt(extent.range.lo);
  const { lines } = await readLine(reader, { x, y, range: { lo: lo + 3001n, hi: lo + 3002n }, extent, width: 100 });
  expect(lines[0].places).toEqual([lo + 3000n, lo + 3003n]);
});

test('a line splits by the values of a column; null is one of them', async () => {
  const x = fieldOf(source, 't');
  const by = { field: fieldOf(source, 's'), values: ["it's", null, 'one'] };
  const reader = createSqlReader(source, engine.ask);
  const extent = (await reader.extent(x))!;
  const request = { x, y: [fieldOf(source, 'w')], by, range: extent.range, extent, width: 4000 };
  const answer = await readLine(reader, request);
  expect(answer).toEqual(await readLine(memory, request));
  expect(answer.lines.map(({ places }) => places.length)).toEqual([600, 600, 600]);
});

test('columns whose names differ only in case are read by their places', async () => {
  const twins = {
    columns: [
      { name: 'a', type: 'INT' },
      { name: 'A', type: 'INT' },
    ],
    from: '(select 1 as x, 5 as y)',
  };
  const columns = { relation: relationOf(twins), axis: axisOf('INT')!, x: { index: 1, type: 'INT' } };
  expect((await engine.ask(extentSql(columns))).rows).toEqual([['5', '5', '1']]);
});
