/** A query that a cluster may run, and the tables it reads. */
export interface FencedQuery {
  readonly sql: string;
  readonly tables: readonly string[];
}

/** Queries for Spark, of all kinds. */
export const SPARK_QUERIES: readonly FencedQuery[] = [
  query('SELECT 1'),
  query('values (1, 2), (3, 4)'),
  query('(SELECT 1)'),
  query('((SELECT 1) UNION ALL (SELECT 2)) ORDER BY 1'),
  query('SELECT * FROM sales;', 'sales'),
  query('SELECT count(*), count(DISTINCT a) FROM `f-01.x`', 'f-01.x'),
  query(
    `SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty,
       sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, avg(l_discount) AS avg_disc, count(*) AS n
     FROM lineitem WHERE l_shipdate <= date '1998-12-01' - interval 90 days
     GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus`,
    'lineitem',
  ),
  query(
    `SELECT s_acctbal, s_name, n_name, p_partkey FROM part, supplier, partsupp, nation, region
     WHERE p_partkey = ps_partkey AND p_type LIKE '%BRASS' AND r_name = 'EUROPE' AND ps_supplycost = (
       SELECT min(ps_supplycost) FROM partsupp, supplier, nation, region WHERE p_partkey = ps_partkey)
     ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100`,
    'nation part partsupp region supplier',
  ),
  query(
    `SELECT supp_nation, l_year, sum(volume) AS revenue FROM (
       SELECT n1.n_name AS supp_nation, extract(year FROM l_shipdate) AS l_year, l_extendedprice AS volume
       FROM supplier, lineitem, nation n1, nation n2
       WHERE (n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY') OR l_shipdate BETWEEN date '1995-01-01' AND date '1996-12-31'
     ) AS shipping GROUP BY supp_nation, l_year HAVING sum(volume) > 10`,
    'lineitem nation supplier',
  ),
  query(
    `SELECT o_orderpriority, count(*) FROM orders WHERE EXISTS (
       SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
     AND o_custkey NOT IN (SELECT c_custkey FROM customer) GROUP BY o_orderpriority`,
    'customer lineitem orders',
  ),
  query(
    `WITH revenue (supplier_no, total) AS (
       SELECT l_suppkey, sum(l_extendedprice) FROM lineitem GROUP BY l_suppkey), top AS (SELECT max(total) AS m FROM revenue)
     SELECT s.*, r.total FROM supplier s JOIN revenue r ON s.s_suppkey = r.supplier_no CROSS JOIN top WHERE r.total = top.m`,
    'lineitem supplier',
  ),
  query(
    `SELECT channel, item, return_rank FROM (
       SELECT 'web' AS channel, item, rank() OVER (PARTITION BY a.b, a.c ORDER BY ratio DESC NULLS LAST
         ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS return_rank FROM web a) x
     WHERE return_rank <= 10 UNION SELECT 'store', item, 1 FROM store MINUS SELECT '', '', 0 INTERSECT SELECT '', '', 1`,
    'store web',
  ),
  query(
    `SELECT sum(a) OVER w, lag(a, 1) IGNORE NULLS OVER v FROM t
     WINDOW w AS (PARTITION BY b, c), v AS (ORDER BY d) ORDER BY 1`,
    't',
  ),
  query('SELECT a, grouping(a), sum(b) FROM t GROUP BY GROUPING SETS ((a, b), (a), ())', 't'),
  query('SELECT a, b, sum(c) FROM t GROUP BY ROLLUP(a, b), CUBE(c)', 't'),
  query('SELECT a, sum(b) FROM t GROUP BY a, b WITH ROLLUP', 't'),
  query('SELECT transform(a, x -> x + 1), aggregate(a, 0, (acc, x) -> acc + x, acc -> acc * 10) FROM t', 't'),
  query("SELECT map_filter(m, (k, v) -> k > v), m['a'], a[0], s.a.b.c, named_struct('a', 1).a FROM t", 't'),
  query(
    "SELECT from_json(j, 'a INT, b ARRAY<STRING>').b[0], get_json_object(j, '$.a'), to_json(struct(a, b)) FROM t",
    't',
  ),
  query(
    "SELECT from_json(j, 'a INT', map('mode', 'FAILFAST')), v:a.b[0]::int, variant_get(v, '$.a', 'int') FROM t",
    't',
  ),
  query(
    'SELECT CAST(a AS DECIMAL(10, 2)), try_cast(b AS STRUCT<a: INT, b: ARRAY<MAP<STRING, INT>>>), c::date FROM t',
    't',
  ),
  query(
    "SELECT interval '1-2' year to month, interval 1 day 2 hours, make_interval(1), timestamp '2024-01-01 00:00:00'",
  ),
  query(
    "SELECT trim(BOTH 'x' FROM a), substring(a FROM 2 FOR 3), overlay(a PLACING 'b' FROM 2), position('a' IN b) FROM t",
    't',
  ),
  query(
    'SELECT a IS DISTINCT FROM b, t.a IS NOT DISTINCT FROM t.b, a <=> b, NOT a, -a, ~a, a | 1, a || b, a % b FROM t',
    't',
  ),
  query("SELECT CASE WHEN a > 1 THEN 'x' WHEN a IS NULL THEN 'y' ELSE 'z' END, CASE a WHEN 1 THEN (2) END FROM t", 't'),
  query('SELECT /*+ BROADCAST(b), REPARTITION(4, a) */ * FROM a JOIN b USING (id, day)', 'a b'),
  query('SELECT /*+ COALESCE(1) */ DISTINCT a FROM t -- a comment; with reflect(1)\n/* and `another */', 't'),
  query('SELECT * FROM a LEFT JOIN b ON a.x = b.y FULL OUTER JOIN (c JOIN d USING (e)) ON (true), f', 'a b c d f'),
  query('SELECT * FROM a LEFT SEMI JOIN b ON a.x = b.x LEFT ANTI JOIN c ON (a.x = c.x) NATURAL JOIN d', 'a b c d'),
  query(
    'SELECT k, v, e.col FROM t LATERAL VIEW explode(m) kv AS k, v LATERAL VIEW OUTER posexplode(a) e AS p, col',
    't',
  ),
  query('SELECT * FROM t, LATERAL (SELECT t.a + 1 AS b) AS u, LATERAL explode(t.xs) AS e(x)', 't'),
  query("SELECT * FROM (SELECT y, q, r FROM s) PIVOT (sum(r) AS total FOR q IN ('a' AS a, 'b' AS b))", 's'),
  query('SELECT * FROM s UNPIVOT INCLUDE NULLS (v FOR n IN (q1 AS a, q2))', 's'),
  query('SELECT * FROM t TABLESAMPLE (10 PERCENT) REPEATABLE (1) WHERE a > 1', 't'),
  query("SELECT * FROM VALUES (1, 'a'), (2, NULL), (-1, upper('b')) AS t(n, s)"),
  query('SELECT * FROM (VALUES (1, x), (2, y)) AS t(a, b), range(0, 10, 2) r'),
  query('SELECT * EXCEPT (a, b), c FROM t', 't'),
  query('SELECT * FROM t EXCEPT (SELECT * FROM u) ORDER BY 1 LIMIT 10 OFFSET 5', 't u'),
  query('SELECT a FROM t WHERE a IN (1, 2) AND b LIKE ? AND c RLIKE r"^\\d+$" DISTRIBUTE BY a, b SORT BY c', 't'),
  query(
    "SELECT 'it''s', 'it\\'s', \"double\", 'a' 'b', x'ff', 1e5, .5, 10L, 2.5BD, 1Y, `größe`, 'größe 🜁' FROM `f-é`",
    'f-é',
  ),
  query("SELECT window.start, count(*) FROM t GROUP BY window(ts, '10 minutes'), date_trunc('day', ts)", 't'),
  query("SELECT listagg(a, ',') WITHIN GROUP (ORDER BY a), percentile_cont(0.5) WITHIN GROUP (ORDER BY b) FROM t", 't'),
  query('SELECT count(*) FILTER (WHERE a > 1 AND (b)), any_value(a), first(b), if(a, 1, 2), left(a, 1) FROM t', 't'),
  query(
    'SELECT user, date, value, name, type, source, data.year, `order` FROM data AS d QUALIFY row_number() OVER () = 1',
    'data',
  ),
  query('WITH sales AS (SELECT * FROM sales WHERE a > 1) SELECT * FROM sales', 'sales'),
  query('SELECT\r\n\ta\r\nFROM t -- end\r\n', 't'),
];

/** Queries for engines that speak Flight SQL. */
export const STANDARD_QUERIES: readonly FencedQuery[] = [
  query('SELECT 1;'),
  query('VALUES (1), (2)'),
  query('FROM frame', 'frame'),
  query('SELECT "a b", \'it\'\'s\', 1.5e3, ? FROM "f-01.x" WHERE "größe" = \'größe \\d\'', 'f-01.x'),
  query(
    'SELECT a.x, count(*) FROM a JOIN b USING (id) GROUP BY a.x, b.y HAVING count(*) > 1 ORDER BY 1, 2 LIMIT 3',
    'a b',
  ),
  query('WITH a AS (SELECT * FROM b) SELECT * FROM a UNION ALL (SELECT * FROM c) -- end', 'b c'),
  query('SELECT sum(x) OVER (PARTITION BY a, b ORDER BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t', 't'),
  query("SELECT [1, 2, 3], a[1], list_transform(a, x -> x + 1), a::int, b ->> '$.a' FROM t WHERE c = [1, 2]", 't'),
  query('SELECT i, j FROM range(10) AS t(i), unnest([1, 2]) AS u(j), generate_series(1, 3)'),
  query("SELECT extract(year FROM d), interval '1 day', date '2024-01-01', trim(a), a IS DISTINCT FROM b FROM t", 't'),
  query('SELECT * FROM t WHERE a IN (1, 2) AND b NOT IN (SELECT c FROM u) AND d IN (?)', 't u'),
  query('SELECT toStartOfHour(ts), quantile(x), uniqExact(y), argMax(a, b) FROM t GROUP BY 1', 't'),
  query('SELECT format, settings FROM t ORDER BY settings DESC', 't'),
  query('SELECT count(*) FILTER (WHERE a > 1), percentile_cont(0.5) WITHIN GROUP (ORDER BY a), user FROM t', 't'),
  query('SELECT * EXCLUDE (a) FROM (SELECT * FROM t) AS u LEFT JOIN (VALUES (1), (2)) AS v(b) ON u.b = v.b', 't'),
];

function query(sql: string, tables = ''): FencedQuery {
  return { sql, tables: tables === '' ? [] : tables.split(' ') };
}
