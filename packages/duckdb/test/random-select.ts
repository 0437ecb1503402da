import fc from 'fast-check';

/** What is random about a frame: its columns are always `k`, `i`, `d`, `s`, `t`, `b`, `n`. */
export interface RandomRow {
  readonly k: number;
  readonly i: bigint | null;
  readonly d: number | null;
  readonly s: string | null;
  readonly t: number | null;
  readonly b: boolean | null;
}

/** Rows that meet: few different keys and texts, nulls, numbers of all sizes. */
export const randomRows: fc.Arbitrary<readonly RandomRow[]> = fc.array(
  fc.record({
    k: fc.integer({ min: 0, max: 4 }),
    i: fc.option(fc.oneof(fc.bigInt({ min: -5n, max: 5n }), fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }))),
    d: fc.option(
      fc.oneof(
        fc.integer({ min: -100, max: 100 }).map((n) => n / 4),
        fc.double({ noNaN: true }),
      ),
    ),
    s: fc.option(fc.constantFrom('', 'a', 'A', 'é', '😀 long text that is not short', "it's", 'b"c', 'a%b')),
    t: fc.option(fc.integer({ min: -1_000_000, max: 2_000_000_000 })),
    b: fc.option(fc.boolean()),
  }),
  { maxLength: 40 },
);

const NUMBERS = [
  'k',
  'i % 7',
  'd',
  'k + 1',
  '-k',
  'abs(k - 2)',
  'coalesce(i % 5, 0)',
  'length(s)',
  'n // 3',
  'k * 2.5',
];
const TEXTS = ['s', 'upper(s)', "s || 'x'", "coalesce(s, 'none')", 'k::VARCHAR', 's[1:2]', "replace(s, 'a', 'b')"];
const TIMES = ['t', "date_trunc('hour', t)", "time_bucket(INTERVAL '1 day', t)", 't + INTERVAL 1 DAY', 't::DATE'];
const OTHERS = [
  'b',
  '[k, n]',
  "{'k': k, 's': s}",
  'MAP {s: k}',
  'NULL',
  'sum(k) OVER (PARTITION BY b ORDER BY n)',
  'i::HUGEINT * 3',
];
const TESTS = [
  'k > 1',
  's IS NOT NULL',
  'b',
  'NOT b',
  "s LIKE '%a%'",
  'i BETWEEN -3 AND 3',
  'k IN (1, 3)',
  'd < 10',
  "t > TIMESTAMP '2000-01-01'",
];
const TOTALS = [
  'count(*)',
  'count(s)',
  'sum(k)',
  'min(i)',
  'max(s)',
  'avg(k)',
  'count(DISTINCT k)',
  'list(k ORDER BY n)',
  "string_agg(s, '|' ORDER BY n)",
  'arg_max(s, n)',
  'sum(i % 1000) FILTER (WHERE k > 1)',
  'bool_or(b)',
  'median(k)',
];

const expression = fc.constantFrom(...NUMBERS, ...TEXTS, ...TIMES, ...OTHERS);
const test = fc.option(fc.array(fc.constantFrom(...TESTS), { minLength: 1, maxLength: 3 }), { nil: [] });
const where = fc
  .tuple(test, fc.constantFrom(' AND ', ' OR '))
  .map(([tests, glue]) => (tests.length === 0 ? '' : `WHERE ${tests.map((one) => `(${one})`).join(glue)}`));

const projection = fc
  .tuple(fc.array(expression, { minLength: 1, maxLength: 5 }), where, fc.option(fc.integer({ min: 0, max: 20 })))
  .map(([list, filter, limit]) => {
    const cut = limit === null ? '' : `LIMIT ${limit} OFFSET ${limit % 3}`;
    return `SELECT ${list.join(', ')} FROM one ${filter} ORDER BY n ${cut}`;
  });

const grouping = fc
  .tuple(
    fc.subarray(['k', 's', 'b', "date_trunc('day', t)"], { minLength: 1 }),
    fc.subarray(TOTALS, { minLength: 1 }),
    where,
  )
  .map(
    ([keys, totals, filter]) =>
      `SELECT ${[...keys, ...totals].join(', ')} FROM one ${filter} GROUP BY ${keys.join(', ')} ORDER BY ALL`,
  );

const joining = fc
  .tuple(
    fc.constantFrom('JOIN', 'LEFT JOIN', 'FULL JOIN', 'SEMI JOIN', 'ANTI JOIN'),
    fc.constantFrom('k', 's', 'b'),
    where,
  )
  .map(([join, key, filter]) => {
    const columns = join.startsWith('SEMI') || join.startsWith('ANTI') ? 'a.n' : 'a.n, c.n, a.s, c.d';
    return `SELECT ${columns} FROM (FROM one ${filter}) a ${join} two c ON a.${key} = c.${key} ORDER BY ALL`;
  });

const window = fc
  .tuple(
    fc.constantFrom('lag(k)', 'lead(s, 2)', 'row_number()', 'rank()', 'sum(k)', 'avg(d)', 'first_value(s)', 'ntile(3)'),
    fc.constantFrom('', 'PARTITION BY k', 'PARTITION BY s, b'),
    fc.constantFrom(
      '',
      'ROWS BETWEEN 2 PRECEDING AND CURRENT ROW',
      'ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING',
    ),
  )
  .map(([call, partition, rows]) => `SELECT n, ${call} OVER (${partition} ORDER BY n ${rows}) FROM one ORDER BY n`);

const union = fc
  .tuple(fc.constantFrom('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT'), where, where)
  .map(([how, left, right]) => `SELECT k, s FROM one ${left} ${how} SELECT k, s FROM two ${right} ORDER BY ALL`);

const nesting = fc
  .tuple(projection, grouping)
  .map(
    ([left, right]) =>
      `WITH x AS (${left}), y AS (${right}) SELECT (SELECT count(*) FROM x) AS x, y.* FROM y ORDER BY ALL`,
  );

const asof = fc
  .constantFrom('ASOF JOIN', 'ASOF LEFT JOIN')
  .map(
    (join) =>
      `SELECT a.n, c.n FROM one a ${join} (SELECT min(n) AS n, t FROM two GROUP BY t) c ON a.t >= c.t ORDER BY ALL`,
  );

/** A SELECT over the frames `one` and `two` whose answer has an order. */
export const randomSelect: fc.Arbitrary<string> = fc.oneof(projection, grouping, joining, window, union, nesting, asof);
