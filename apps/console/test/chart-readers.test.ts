import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SLOW } from '../../../test/tier.ts';
import { axisOf, type Range } from '../src/chart/axis.ts';
import { bucketsOf } from '../src/chart/ticks.ts';
import type { ChartReader, ChartSource } from '../src/chart/chart-reader.ts';
import { readCandles } from '../src/chart/load-chart.ts';
import { createMemoryReader, createSlices } from '../src/chart/memory-reader.ts';
import { createSqlReader } from '../src/chart/sql-reader.ts';
import { parsePlan } from '../src/chart/PlanPane.tsx';
import type { Aggregate } from '../src/state/tabs.ts';
import { summarise } from '../src/chart/summarise.ts';
import { type Engine, fieldOf, rowsInMemory, startEngine } from './engine.ts';

const ends: (() => Promise<void>)[] = [];
let engine: Engine;
let source: ChartSource;
let sql: ChartReader;
let memory: ChartReader;

beforeAll(async () => {
  engine = await startEngine((end) => ends.push(end));
  // Quarters add up exactly as doubles, in every order.
  source = await engine.frame(
    'trades',
    `select timestamp '2019-11-05 10:00' + to_seconds(i * 40000 + 17) as ts, (hash(i) % 400)::int / 4.0::double as price,
      (9007199254740993 + hash(i) % 1000)::bigint as id, (hash(i * 3) % 100000)::decimal(12, 3) / 8 as raw,
      ((hash(i * 3) % 100000) / 1000)::decimal(12, 3) as fee,
      case hash(i) % 5 when 0 then null when 1 then '' else 'k' || (hash(i) % 70) end as name,
      case when i % 50 = 0 then 'nan' when i % 60 = 0 then null else i / 4.0 end::double as odd, [i] as list
    from range(3000) x(i)`,
  );
  sql = createSqlReader(source, engine.ask);
  memory = createMemoryReader(await rowsInMemory(source, engine.ask), createSlices());
});
afterAll(() => Promise.all(ends.map((end) => end())));

describe('SQL and rows in memory agree', () => {
  const AGGREGATES: Aggregate[] = ['sum', 'min', 'max'];

  test.each(AGGREGATES)('on the %s of bars', async (aggregate) => {
    const values = ['fee', 'id', 'price'].map((name) => ({ field: fieldOf(source, name), aggregate }));
    const answer = await sql.bars(fieldOf(source, 'name'), values, 30);
    expect(answer).toEqual(await memory.bars(fieldOf(source, 'name'), values, 30));
    expect(answer.groups).toHaveLength(30);
    expect(answer.total).toBeGreaterThan(30);
  });

  test('on the most frequent values, the empty text and null among them', async () => {
    const answer = await sql.bars(fieldOf(source, 'name'), [], 6);
    expect(answer).toEqual(await memory.bars(fieldOf(source, 'name'), [], 6));
    expect(new Set(answer.groups.slice(0, 2).map(({ key }) => key))).toEqual(new Set(['', null]));
  });

  test.each([
    ['ts', 12],
    ['ts', 400],
    ['ts', 2000],
    ['price', 40],
    ['id', 20],
    ['fee', 33],
    ['odd', 25],
  ])('on the buckets of %s, at most %d', async (name, most) => {
    const x = fieldOf(source, name);
    const { range } = (await sql.extent(x))!;
    const bucket = bucketsOf(axisOf(x.type)!, range, most);
    const values = [{ field: fieldOf(source, 'fee'), aggregate: 'sum' as const }];
    const answer = await sql.buckets(x, values, bucket, range);
    expect(answer).toEqual(await memory.buckets(x, values, bucket, range));
    expect(answer.length).toBeGreaterThan(5);
    expect(answer.length).toBeLessThanOrEqual(most + 2);
  });

  test.each([1, 4])('on candles of %d columns', async (count) => {
    const x = fieldOf(source, 'ts');
    const ohlc = ['price', 'fee', 'id', 'price'].slice(0, count).map((name) => fieldOf(source, name));
    const { range } = (await sql.extent(x))!;
    for (const most of [10, 100]) {
      const bucket = bucketsOf(axisOf(x.type)!, range, most);
      const request = { x, ohlc, bucket, range };
      expect(await readCandles(sql, request)).toEqual(await readCandles(memory, request));
    }
    const part: Range = { lo: range.lo, hi: BigInt(range.lo) + 400_000_000_000n };
    const request = { x, ohlc, bucket: undefined, range: part };
    const rows = await readCandles(sql, request);
    expect(rows).toHaveLength(11);
    expect(rows).toEqual(await readCandles(memory, request));
  });

  test('on the summaries of all columns', SLOW, async () => {
    const rows = await rowsInMemory(source, engine.ask);
    for (const [index, { name, type }] of source.columns.entries()) {
      if (type === 'ARRAY') continue;
      const answer = await summarise(source, index, engine);
      const expected = await summarise({ ...source, rows }, index, engine);
      const { min, max, mean } = answer;
      // Sums of doubles depend on their order.
      expect({ name, ...answer }).toEqual({ name, ...expected, min, max, mean });
      if (mean !== null) expect(Number(mean)).toBeCloseTo(Number(expected.mean), 6);
      expect([min, max]).toEqual([expected.min, expected.max]);
    }
  });
});

test('a summary counts nulls and values that are not finite apart', async () => {
  const { nulls, notFinite, rows, min } = await summarise(source, fieldOf(source, 'odd').index, engine);
  expect({ nulls, notFinite, rows, min }).toEqual({ nulls: 40, notFinite: 60, rows: 3000, min: '0.25' });
});

test('a summary of the largest 128-bit numbers has a mean', async () => {
  const large = await engine.frame(
    'large',
    'select 170141183460469231731687303715884105727 - range as v from range(9)',
  );
  expect(await summarise(large, 0, engine)).toMatchObject({
    max: '170141183460469231731687303715884105727',
    mean: '1.7014118346046923e+38',
  });
});

test('a summary of nested values has no lowest and highest value', async () => {
  const summary = await summarise(source, fieldOf(source, 'list').index, engine);
  expect(summary).toMatchObject({ nulls: 0, distinct: 3000, min: null, max: null, mean: null, histogram: undefined });
});

test('a cut summary reads the first rows only', async () => {
  const long = {
    columns: [{ name: 'i', type: 'LONG' }],
    from: '(select i from range(1000005) x(i))',
    engine: 'local' as const,
  };
  expect(await summarise(long, 0, { ask: engine.ask, isCut: true })).toMatchObject({
    rows: 1_000_000,
    min: '0',
    max: '999999',
  });
});

test('the plan of a statement has its operators with rows and parts of the time', async () => {
  const { rows } = await engine.ask('EXPLAIN (ANALYZE, FORMAT JSON) select name, sum(fee) from trades group by name');
  const plan = parsePlan(String(rows[0][1]))!;
  const names: string[] = [];
  let share = 0;
  let leafRows = 0;
  const visit = (node: typeof plan.root): void => {
    names.push(node.name);
    share += node.share;
    if (node.children.length === 0) leafRows = node.rows;
    node.children.forEach(visit);
  };
  visit(plan.root);
  expect(names).toContain('HASH GROUP BY');
  expect(names).not.toContain('EXPLAIN ANALYZE');
  expect(share).toBeCloseTo(1, 6);
  expect(leafRows).toBe(3000);
  expect(plan.seconds).toBeGreaterThan(0);
});
