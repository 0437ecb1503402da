import { parseHandle, streamFromTable } from '@svc/frames';
import { DurationNanosecond, Field, Int32, List, Struct, Table, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSqlFixture, type SqlFixture } from '../testing/sql-fixture.ts';

let fixture: SqlFixture;

beforeAll(async () => {
  fixture = await createSqlFixture();
  const put = (handle: string, table: Table) =>
    fixture.store.put({ tenant: 'default', handle: parseHandle(handle) }, streamFromTable(table));
  const int = (value: number) => vectorFromArray([value], new Int32());
  const fields = ['a', 'A', 'a_1'].map((name) => new Field(name, new Int32(), true));
  const pair = new Struct<Record<string, Int32>>(fields);
  const list = new List(new Field('item', pair, true));
  const row = { a: 10, A: 20, a_1: 30 };
  await put('times', new Table({ p95: int(1), P95: int(2), s: vectorFromArray([row], pair) }));
  await put('lists', new Table({ l: vectorFromArray([[row]], list) }));
  await put('crowd', new Table({ x: int(1), X: int(2), x_0: int(3), X_1: int(4), É: int(5), é: int(6) }));
  const spans = new Struct<Record<string, DurationNanosecond | Int32>>([
    new Field('d', new DurationNanosecond(), true),
    new Field('D', new Int32(), true),
  ]);
  await put('spans', new Table({ v: vectorFromArray([{ d: 1n, D: 7 }], spans) }));
  await put('other', new Table({ p95: int(9), id: int(1) }));
});

afterAll(() => fixture.close());

describe('columns whose names differ only by case', () => {
  test.each<readonly [string, string]>([
    ['FROM times', '{"p95_0":1,"P95_1":2,"s":{"a_0":10,"A_2":20,"a_1":30}}'],
    ['FROM spans', '{"v":{"d_0":"PT0.000000001S","D_1":7}}'],
    ['SELECT P95_0, "p95_1" FROM times', '{"p95_0":1,"P95_1":2}'],
    ['SELECT p95_0 AS p95 FROM times ORDER BY p95', '{"p95":1}'],
    ['SELECT s.a_0, s.a_1, s.A_2 FROM times', '{"a_0":10,"a_1":30,"A_2":20}'],
    ['SELECT unnest(l, recursive := true) FROM lists', '{"a_0":10,"A_2":20,"a_1":30}'],
    ['SELECT p95_1, other.p95 FROM times JOIN other ON true', '{"P95_1":2,"p95":9}'],
    ['SELECT p95 FROM other', '{"p95":9}'],
    ['FROM crowd', '{"x_2":1,"X_3":2,"x_0":3,"X_1":4,"É":5,"é":6}'],
    ["SELECT columns('p95') FROM times", '{"p95_0":1}'],
    [
      'SELECT column_name FROM (DESCRIBE times)',
      ['p95_0', 'P95_1', 's'].map((name) => `{"column_name":"${name}"}`).join('\n'),
    ],
    [
      'SELECT column_name, min FROM (SUMMARIZE (SELECT * EXCLUDE (s) FROM times))',
      '{"column_name":"p95_0","min":"1"}\n{"column_name":"P95_1","min":"2"}',
    ],
    [
      "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'times'",
      '{"column_name":"p95_0","data_type":"INTEGER"}\n{"column_name":"P95_1","data_type":"INTEGER"}\n' +
        '{"column_name":"s","data_type":"STRUCT(a_0 INTEGER, A_2 INTEGER, a_1 INTEGER)"}',
    ],
  ])('%s', async (sql, lines) => {
    expect(await fixture.text(sql)).toBe(`${lines}\n`);
  });

  test.each([
    'SELECT p95 FROM times',
    'SELECT "P95" FROM times',
    'SELECT p95, "P95" FROM times',
    'SELECT times.p95 FROM times',
    'SELECT t."P95" FROM times t',
    'SELECT main.times.p95 FROM times',
    'SELECT id FROM other, times WHERE times.p95 > 0',
    'SELECT count(*) FROM times WHERE p95 > 0',
    'FROM times ORDER BY p95',
    'SELECT count(*) FROM times GROUP BY "P95"',
    'SELECT max(p95) OVER () FROM times',
    'FROM times JOIN other USING (p95)',
    'FROM other JOIN times USING (p95)',
    'SELECT * EXCLUDE (p95) FROM times',
    'SELECT times.* EXCLUDE (times.p95) FROM times',
    'SELECT * REPLACE (1 AS p95) FROM times',
    "SELECT columns('^p95$') FROM times",
    "SELECT columns(['p95']) FROM times",
    'SELECT p95 FROM (SELECT * FROM times)',
    'WITH t AS (FROM times) SELECT t.p95 FROM t',
    'SELECT id FROM other WHERE EXISTS (SELECT p95 FROM times)',
    'SELECT p95 FROM times, other',
    'SELECT (SELECT max(p95) FROM times) FROM other',
    'EXPLAIN SELECT p95 FROM times, other',
    'SUMMARIZE SELECT p95 FROM times',
  ])('%s is refused', async (sql) => {
    await expect(fixture.text(sql)).rejects.toMatchObject({
      code: 'invalid_sql',
      message: 'The name "p95" is shared by the columns "p95" and "P95" of the frame "times".',
      hint: expect.stringContaining('In SQL they are called "p95_0" and "P95_1".'),
    });
  });

  test.each(['SELECT s.a FROM times', 'SELECT times.s."A" FROM times', "SELECT s['a'] FROM times"])(
    '%s is refused, where fields of a struct share a name',
    async (sql) => {
      await expect(fixture.text(sql)).rejects.toMatchObject({
        code: 'invalid_sql',
        message: 'The name "a" is shared by the fields "a" and "A" of the frame "times".',
        hint: 'In SQL they are called "a_0" and "A_2".',
      });
    },
  );

  test('the position is that of the name', async () => {
    const sql = 'EXPLAIN SELECT p95 FROM times, other';
    await expect(fixture.text(sql)).rejects.toMatchObject({ position: sql.indexOf('p95') });
  });
});
