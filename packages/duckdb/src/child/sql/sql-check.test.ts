import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe, expect, test } from 'vitest';
import { createSqlChecker, type SqlChecker } from './sql-check.ts';
import { SqlRefusal } from './sql-refusal.ts';
import type { SqlFailure } from '../../wire/requests.ts';

let checker: SqlChecker;

beforeAll(async () => {
  const instance = await DuckDBInstance.create(':memory:');
  checker = await createSqlChecker(await instance.connect());
});

async function tablesOf(sql: string): Promise<string[]> {
  return (await checker.check(sql)).tables.map(({ name, position }) => `${name}@${position}`);
}

async function refusalOf(sql: string): Promise<SqlFailure> {
  const error: unknown = await checker.check(sql).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof SqlRefusal)) throw new Error(`${sql} was not refused: ${String(error)}`);
  return error.failure;
}

describe('tables that a statement names', () => {
  test.each([
    ['SELECT 1', []],
    ['SELECT * FROM trades', ['trades@14']],
    ['FROM trades', ['trades@5']],
    ['TABLE trades', ['trades@6']],
    ['VALUES (1)', []],
    ['FROM "a.b-c", main.t, memory.main.u', ['a.b-c@5', 't@14', 'u@22']],
    ["SELECT 'é' FROM t", ['t@17']],
    ['SELECT (SELECT max(x) FROM a) FROM b WHERE EXISTS (FROM c)', ['a@27', 'b@35', 'c@56']],
    ['FROM a JOIN b USING (id) ASOF JOIN c ON a.t >= c.t', ['a@5', 'b@12', 'c@35']],
    ['SELECT 1 UNION ALL (SELECT x FROM a ORDER BY (SELECT y FROM b))', ['a@34', 'b@60']],
    ['DESCRIBE trades', ['trades@9']],
    ['SUMMARIZE SELECT * FROM trades', ['trades@24']],
    ['FROM (DESCRIBE trades)', ['trades@15']],
    ['EXPLAIN SELECT * FROM trades', ['trades@22']],
    ['  explain /* why */ ANALYZE FROM trades', ['trades@33']],
    ['EXPLAIN (ANALYZE, FORMAT json) FROM trades', ['trades@36']],
    ['/* /* a */ b */ EXPLAIN -- c\n (FROM trades)', ['trades@36']],
    ["PIVOT t ON s IN ('a', 'b') USING sum(x)", ['t@6']],
    ['UNPIVOT t ON a, b', ['t@8']],
    ['SELECT * FROM t LIMIT (SELECT count(*) FROM u)', ['t@14', 'u@44']],
    ['SELECT x[(SELECT 1 FROM a)] FROM b', ['a@24', 'b@33']],
    ['SELECT sum(x) FILTER (WHERE y IN (FROM a)) OVER (ORDER BY (FROM b)) FROM c', ['a@39', 'b@64', 'c@73']],
    ['FROM t, LATERAL (SELECT t.x + y FROM u)', ['t@5', 'u@37']],
    ['SELECT * FROM range((SELECT max(x) FROM a))', ['a@40']],
  ])('%s', async (sql, tables) => {
    expect((await tablesOf(sql)).toSorted()).toEqual(tables.toSorted());
  });
});

test('a repeated statement has the same names, also after many others', async () => {
  const first = await checker.check('FROM trades');
  expect(await checker.check('FROM trades')).toEqual(first);
  for (let i = 0; i < 100; i++) expect(await tablesOf(`FROM t${i}`)).toEqual([`t${i}@5`]);
  expect(await checker.check('FROM trades')).toEqual(first);
});

describe('CTEs hide tables within their scope', () => {
  test.each([
    ['WITH a AS (FROM b) FROM a', ['b']],
    ['WITH a AS (FROM a) FROM a', ['a']],
    ['WITH A AS (SELECT 1) FROM a', []],
    ['WITH "\u212A" AS (SELECT 1) FROM k', ['k']],
    ['WITH RECURSIVE "\u212A" AS (SELECT 1 UNION ALL FROM k) FROM "\u212A"', ['k']],
    ['FROM k, "\u212A"', ['\u212A', 'k']],
    ['WITH a AS (FROM b), b AS (FROM a) FROM b', ['b']],
    ['WITH RECURSIVE r AS (SELECT 1 UNION ALL FROM r) FROM r', []],
    ['WITH RECURSIVE r AS (FROM r UNION ALL SELECT 1) FROM r', ['r']],
    ['WITH RECURSIVE r(a) USING KEY (a) AS (SELECT 1 UNION SELECT a FROM recurring.r) FROM r', []],
    ['WITH a AS MATERIALIZED (SELECT 1) SELECT (FROM a)', []],
    ['WITH a AS (SELECT 1) FROM main.a', ['a']],
    ['SELECT * FROM (WITH a AS (SELECT 1) FROM a), a', ['a']],
    ['WITH a AS (SELECT 1) (FROM a) UNION (WITH b AS (FROM a) FROM b)', []],
    ['WITH a AS (WITH b AS (SELECT 1) FROM b) FROM a, b', ['b']],
    ['WITH a AS (SELECT 1) SELECT (WITH a AS (FROM b) FROM a), (FROM a)', ['b']],
    ['SELECT (WITH a AS (SELECT 1) SELECT (WITH a AS (SELECT 2) FROM a), (FROM a)), (FROM a)', ['a']],
    ['WITH sqlite_master AS (FROM sqlite_master) FROM sqlite_master', ['sqlite_master']],
  ])('%s', async (sql, names) => {
    expect((await checker.check(sql)).tables.map(({ name }) => name)).toEqual(names);
  });
});

// Typical SQL: none of it may be refused.
test.each([
  'SELECT lag(x) OVER (PARTITION BY s ORDER BY t ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t',
  'SELECT list_transform([1], lambda x: x + 1), [i * 2 FOR i IN range(3) IF i > 1], list_filter([1], x -> x > 0)',
  "SELECT x::DECIMAL(10, 2), CAST(y AS ENUM('a')), TRY_CAST(z AS UUID), '1'::STRUCT(a INT)[], x::MAP(INT, VARCHAR) FROM t",
  "SELECT {'a': 1}.a, [1, 2][1], MAP {'k': 1}['k'], row(1, 2), (1, 2), struct_pack(a := 1), t.s.a FROM t",
  "SELECT CASE WHEN x BETWEEN 1 AND 2 THEN 'a' ELSE NULL END, x IS NULL, NOT x, x IN (1, 2), x LIKE 'a%' ESCAPE '$' FROM t",
  "SELECT COLUMNS('a.*'), * EXCLUDE (a) REPLACE (b + 1 AS b) RENAME (c AS d), t.* FROM t",
  "SELECT INTERVAL 1 DAY, DATE '2024-01-01', TIMESTAMP '2024-01-01' AT TIME ZONE 'UTC', EXTRACT(year FROM d) FROM t",
  'SELECT current_date, current_timestamp, now(), today(), localtimestamp, current_user',
  "SELECT trim(BOTH 'a' FROM s), substring(s FROM 1 FOR 2), position('a' IN s), substring(s, 1, 2) FROM t",
  "SELECT s COLLATE NOCASE, ('a').upper().lower(), s || 'x', s ^@ 'a', s ~ 'a', s !~~ 'a', -x, x ** 2, x // 2, x % 2, @x, x! FROM t",
  'SELECT count(*), count(DISTINCT x), sum(x) FILTER (x > 1), array_agg(x ORDER BY y DESC), quantile_cont(x, 0.5) FROM t',
  "SELECT string_agg(s, ',' ORDER BY s), arg_max(a, b), first(x), any_value(y), mode(z), median(z), stddev(z) FROM t",
  'SELECT GROUPING(a), GROUPING_ID(a, b) FROM t GROUP BY GROUPING SETS ((a), (b), ()), ROLLUP (a), CUBE (a, b)',
  'SELECT a FROM t GROUP BY ALL HAVING count(*) > 1 QUALIFY row_number() OVER () = 1 ORDER BY ALL LIMIT 10 OFFSET 5',
  'SELECT DISTINCT ON (a) a, b FROM t USING SAMPLE 10 PERCENT (bernoulli)',
  'SELECT * FROM t TABLESAMPLE reservoir(10 ROWS) REPEATABLE (1) LIMIT 10%',
  'SELECT unnest([1, 2]), generate_subscripts([1], 1), range(3), generate_series(1, 3)',
  "SELECT j->'a', j->>'$.b', json_extract(j, 'a'), to_json(j), json_group_array(x) FROM t",
  'SELECT ARRAY(SELECT 1), EXISTS (SELECT 1), 1 = ANY (SELECT 1), 1 > ALL (SELECT 2), ARRAY[1, 2], (SELECT 1)',
  "SELECT time_bucket(INTERVAL '5 minutes', ts), date_trunc('hour', ts), date_diff('day', a, b), strftime(ts, '%Y') FROM t",
  "SELECT regexp_matches(s, 'a'), regexp_extract(s, '(a)', 1), md5(s), hash(s), uuid(), random(), typeof(s) FROM t",
  'SELECT nullif(a, b), coalesce(a, b), ifnull(a, b), greatest(a, b), least(a, b), if(a, b, c), TRY(a / b) FROM t',
  'SELECT first_value(x IGNORE NULLS) OVER w, nth_value(x, 2) OVER w, ntile(4) OVER w FROM t WINDOW w AS (ORDER BY y)',
  'SELECT avg(x) OVER (ORDER BY ts RANGE BETWEEN INTERVAL 7 DAYS PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM t',
  'SELECT $1, ?2, ?, #1 FROM t WHERE a = $2 ORDER BY 1',
  'FROM range(10) t(i) SELECT i WHERE i > 5',
  'FROM a NATURAL JOIN b SEMI JOIN c USING (x) ANTI JOIN d USING (x) POSITIONAL JOIN e LEFT JOIN f ON TRUE CROSS JOIN g',
  'FROM a UNION BY NAME FROM b INTERSECT FROM c EXCEPT ALL FROM d',
  'WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 10) SELECT * FROM r',
  "SELECT union_value(k := 1), enum_range(NULL::ENUM('a')), map_entries(MAP {'a': 1}), list_aggregate([1], 'sum')",
  'SELECT s[1:2], l[-1], l[:], s[1:-1:1] FROM t',
  "SELECT printf('%d', 1), format('{}', 1), to_base64('a'::BLOB), '\\xAA'::BLOB, 1e10, 0x1F, 1_000",
  "SELECT a.b.c, \"quoted name\", 'it''s', $$dollar$$, E'\\n' FROM a -- and a comment",
  'SELECT * FROM json_each(\'{"a": 1}\'), unnest([1]) u(x), generate_series(1, 2), repeat(1, 2)',
  'SELECT epoch_ms(ts), to_timestamp(1), make_date(2024, 1, 1), age(a, b), last_day(d), isfinite(x) FROM t',
])('%s is not refused', async (sql) => {
  await expect(checker.check(sql)).resolves.toMatchObject({ text: sql });
});

describe('statements that are refused', () => {
  test.each([
    ["COPY t TO 'x'", 'permission_denied', 'COPY'],
    ["EXPLAIN ANALYZE COPY t TO 'x'", 'permission_denied', 'COPY'],
    ["EXPLAIN /* /* */ SELECT 1 -- */ COPY t TO 'x'", 'permission_denied', 'COPY'],
    ['EXPLAIN /* no end', 'invalid_sql', 'comment'],
    ['CREATE TABLE x AS SELECT 1', 'permission_denied', 'CREATE'],
    ['WITH a AS (SELECT 1) INSERT INTO t FROM a', 'permission_denied', 'WITH'],
    ['SET threads = 1', 'permission_denied', 'SET'],
    ['CALL range(3)', 'permission_denied', 'CALL'],
    ['PRAGMA version', 'permission_denied', 'PRAGMA'],
    ['SHOW TABLES FROM x', 'permission_denied', 'SHOW'],
    ['SHOW VARIABLES', 'permission_denied', 'SHOW'],
    ['FROM system.main.duckdb_tables()', 'permission_denied', 'duckdb_tables'],
    ['FROM main.Duckdb_Columns()', 'permission_denied', 'duckdb_columns'],
    ['SELECT duckdb_tables()', 'invalid_sql', 'duckdb_tables'],
    ['SELECT 1; SELECT 2', 'invalid_sql', '2 statements'],
    ['SELECT 1; DROP TABLE t', 'invalid_sql', '2 statements'],
    ['PIVOT t ON s USING sum(x)', 'invalid_sql', 'PIVOT'],
    ['', 'invalid_sql', 'no SQL'],
    ['-- nothing', 'invalid_sql', 'no SQL'],
    [' ; ', 'invalid_sql', 'no SQL'],
    ['SELECT $1, $name', 'invalid_sql', 'named and positional'],
    ['FROM x.y', 'invalid_sql', '"x.y"'],
    ['FROM pg_catalog.pg_settings', 'permission_denied', 'pg_catalog.pg_settings'],
    ['FROM system.information_schema.tables', 'invalid_sql', 'system.information_schema.tables'],
    ['FROM information_schema.nope', 'invalid_sql', 'information_schema.nope'],
    ['SELECT * FROM my-frame', 'invalid_sql', 'Syntax error'],
  ])('%s: %s', async (sql, code, part) => {
    const { code: found, message } = await refusalOf(sql);
    expect(found).toBe(code);
    expect(message).toContain(part);
  });

  test('a syntax error has a position', async () => {
    expect(await refusalOf("SELECT 'é' FRM t")).toEqual({
      code: 'invalid_sql',
      message: 'Syntax error at or near "t".',
      position: 16,
    });
  });

  test('positions after EXPLAIN count from the beginning of the SQL', async () => {
    expect(await refusalOf('EXPLAIN  ANALYZE SELECT read_text(1)')).toMatchObject({
      code: 'permission_denied',
      position: 24,
    });
  });
});

test('SHOW TABLES is distinguished from other statements', async () => {
  expect(await checker.check('show tables;')).toMatchObject({ tables: [], listsFrames: true });
});

test.each([
  'SHOW ALL TABLES',
  'FROM (SHOW TABLES)',
  'SHOW TABLES FROM memory.main',
  'EXPLAIN SHOW TABLES',
  'SHOW DATABASES',
  'DESCRIBE',
  'FROM information_schema.Tables',
  'SELECT (SELECT max(table_oid) FROM duckdb_tables())',
])('%s reads the catalogue', async (sql) => {
  expect(await checker.check(sql)).toMatchObject({ tables: [], readsCatalogue: true });
});

describe('functions', () => {
  test.each([
    ["FROM read_csv('x')", 'read_csv', 5],
    ['FROM main."Read_CSV"(\'x\')', 'read_csv', 5],
    ["SELECT read_text('x')", 'read_text', 7],
    ["SELECT 1 FROM t WHERE x IN (SELECT y FROM glob('*'))", 'glob', 42],
    ["SELECT current_setting('threads')", 'current_setting', 7],
    ['SELECT max(pg_sleep(1)) OVER ()', 'pg_sleep', 11],
    ["SELECT list_transform([1], lambda x: write_log('a'))", 'write_log', 37],
    ["FROM query('SELECT 1')", 'query', 5],
  ])('%s is refused by name', async (sql, name, position) => {
    const failure = await refusalOf(sql);
    expect(failure).toMatchObject({ code: 'permission_denied', position });
    expect(failure.message).toContain(name);
  });

  test('an unknown one gets the nearest one as its hint', async () => {
    expect(await refusalOf('SELECT summ(1)')).toEqual({
      code: 'invalid_sql',
      message: 'There is no function "summ".',
      hint: 'Did you mean sum?',
      position: 7,
    });
  });

  test('one in the wrong place says so', async () => {
    expect(await refusalOf('FROM upper(1)')).toMatchObject({ hint: 'Call it in an expression, not after FROM.' });
    expect(await refusalOf('SELECT json_each(1)')).toMatchObject({ hint: 'Call it after FROM.' });
  });
});

test.each([
  ['parentheses', `SELECT ${'('.repeat(5000)}1${')'.repeat(5000)}`],
  ['subqueries', `SELECT * FROM ${'(SELECT * FROM '.repeat(400)}t${')'.repeat(400)}`],
  ['operators', `SELECT ${'1+'.repeat(20_000)}1`],
  ['negations', `SELECT ${'NOT '.repeat(20_000)}true`],
])('many nested %s are checked or refused', async (_, sql) => {
  const outcome = await checker.check(sql).then(
    () => 'checked',
    (error: unknown) => (error instanceof SqlRefusal ? error.failure.code : String(error)),
  );
  expect(['checked', 'invalid_sql']).toContain(outcome);
});
