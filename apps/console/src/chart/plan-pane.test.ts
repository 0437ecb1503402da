import { expect, test } from 'vitest';
import { fromLeaves, parsePlan, percentText, secondsText } from './PlanPane.tsx';

const operator = (name: string, timing: number, rows: number, children: object[] = [], info: object = {}): object => ({
  operator_name: name,
  operator_timing: timing,
  operator_cardinality: rows,
  operator_rows_scanned: 0,
  extra_info: info,
  children,
});

test('a plan without the operator of EXPLAIN, with parts of the time, from the leaves up', () => {
  const scan = operator('READ_PARQUET ', 0.3, 90, [], { Filters: ['a>1', 'b>2'], 'Estimated Cardinality': '100' });
  const join = operator('HASH_JOIN', 0.1, 7, [scan, operator('DUMMY_SCAN', 0, 1)]);
  const plan = parsePlan(
    JSON.stringify({ latency: 0.5, cpu_time: 0.4, children: [operator('EXPLAIN_ANALYZE', 9, 0, [join])] }),
  )!;
  expect([plan.seconds, plan.cpuSeconds]).toEqual([0.5, 0.4]);
  expect(fromLeaves(plan.root).map(({ name, rows }) => [name, rows])).toEqual([
    ['READ PARQUET', 90],
    ['DUMMY SCAN', 1],
    ['HASH JOIN', 7],
  ]);
  expect(plan.root.children[0]).toMatchObject({ expectedRows: 100, details: [['Filters', 'a>1, b>2']] });
  expect(plan.root.children[0].share).toBeCloseTo(0.75, 9);
});

test.each(['', 'no JSON', '[]', '{}', 'null', '{"children":[]}', '{"children":[{"operator_name":"EXPLAIN_ANALYZE"}]}'])(
  '%j is no plan',
  (text) => {
    expect(parsePlan(text)).toBeUndefined();
  },
);

test('times and parts have suitable units', () => {
  expect([2.5, 0.0123, 0.000004].map(secondsText)).toEqual(['2.50 s', '12.3 ms', '4 µs']);
  expect([0.5, 0.0123].map(percentText)).toEqual(['50 %', '1.2 %']);
});
