import { describe, expect, test } from 'vitest';
import { beginsUpdate, parseUpdate } from './update-statement.ts';

const create = { kind: 'create', isReplacing: false, isOptional: false };
const insert = { kind: 'insert', handle: 't' };
const nothing = { kind: 'nothing' };
const renamed = { kind: 'rename' };

describe('a statement', () => {
  test.each([
    ['CREATE TABLE t AS SELECT 1', { ...create, handle: 't' }],
    ['create or replace table T as from x', { ...create, handle: 'T', isReplacing: true }],
    ['CREATE TABLE IF NOT EXISTS t AS SELECT 1', { ...create, handle: 't', isOptional: true }],
    ['CREATE TABLE "my-frame.v1" AS SELECT 1', { ...create, handle: 'my-frame.v1' }],
    ['CREATE TABLE "a""b" AS SELECT 1', { ...create, handle: 'a"b' }],
    ['CREATE TABLE main.t AS SELECT 1', { ...create, handle: 't' }],
    ['CREATE TABLE memory . "main" . t AS SELECT 1', { ...create, handle: 't' }],
    ['/* a */ -- b\n CREATE/**/TABLE t AS(SELECT 1)', { ...create, handle: 't' }],
    ['INSERT INTO t VALUES (1, 2)', insert],
    ['insert into "my-frame" select 1', { ...insert, handle: 'my-frame' }],
    ['INSERT INTO main.t (a, "b c") FROM x', { ...insert, columns: ['a', 'b c'] }],
    ['INSERT INTO t (SELECT 1)', { ...insert, select: '              (SELECT 1)' }],
    ['INSERT INTO t("select") (VALUES (1))', { ...insert, columns: ['select'] }],
    ['INSERT INTO t VALUES (?, ?)', { ...insert, placeholders: [0, 1] }],
    ['INSERT INTO t (b, a) VALUES ( $2 , $1 );', { ...insert, columns: ['b', 'a'], placeholders: [1, 0] }],
    ['DROP TABLE t', { kind: 'drop', handle: 't', isOptional: false }],
    ['drop table if exists "t" ; -- gone', { kind: 'drop', handle: 't', isOptional: true }],
    ['rename table a to "my-b";', { kind: 'rename', handle: 'a', newHandle: 'my-b', isOptional: false }],
    ['ALTER TABLE a RENAME TO b', { kind: 'rename', handle: 'a', newHandle: 'b', isOptional: false }],
    ['alter table if exists "a-1" rename to "b.2";', { ...renamed, handle: 'a-1', newHandle: 'b.2', isOptional: true }],
    ['ALTER TABLE memory.main.a RENAME TO main."b"', { ...renamed, handle: 'a', newHandle: 'b' }],
  ])('%s changes frames', async (sql, update) => {
    expect(await parseUpdate(sql)).toMatchObject(update);
  });

  test.each([
    ['BEGIN'],
    ['begin transaction;'],
    ['START TRANSACTION'],
    ['COMMIT'],
    ['ROLLBACK WORK ;'],
    ["SET timezone='UTC'"],
    ["set session time zone 'utc'"],
    ["SET TIMEZONE TO 'Etc/UTC';"],
  ])('%s changes nothing', async (sql) => {
    expect(await parseUpdate(sql)).toEqual(nothing);
  });

  test.each([
    ['INSERT INTO t VALUES (?, 1)'],
    ['INSERT INTO t VALUES (?, ?), (?, ?)'],
    ['INSERT INTO t VALUES (?) RETURNING *'],
    ['INSERT INTO t SELECT ?'],
    ['INSERT INTO t VALUES (?1)'],
    ['INSERT INTO t VALUES ()'],
  ])('%s has values that are not only parameters', async (sql) => {
    expect(await parseUpdate(sql)).toHaveProperty('select');
    expect(await parseUpdate(sql)).not.toHaveProperty('placeholders');
  });

  test.each([
    ['t (id BIGINT, name TEXT)', 'SELECT CAST(NULL AS BIGINT) AS "id", CAST(NULL AS TEXT) AS "name" LIMIT 0'],
    ['t ("a ""b" VARCHAR(30) NOT NULL)', 'SELECT CAST(NULL AS VARCHAR(30)) AS "a ""b" LIMIT 0'],
    [
      't(x DOUBLE PRECISION null , y BIT(1))',
      'SELECT CAST(NULL AS DOUBLE PRECISION) AS "x", CAST(NULL AS BOOLEAN) AS "y" LIMIT 0',
    ],
    [
      't (p DECIMAL(10, 2), s STRUCT(a INT, "check" TEXT)[]);',
      'SELECT CAST(NULL AS DECIMAL(10, 2)) AS "p", CAST(NULL AS STRUCT(a INT, "check" TEXT)[]) AS "s" LIMIT 0',
    ],
    [
      't (s STRUCT(a INT, primary STRUCT("check" INT)) NULL)',
      'SELECT CAST(NULL AS STRUCT(a INT, primary STRUCT("check" INT))) AS "s" LIMIT 0',
    ],
  ])('CREATE TABLE %s has no rows', async (text, select) => {
    expect(await parseUpdate(`CREATE TABLE ${text}`)).toEqual({ ...create, handle: 't', select, isDeclared: true });
  });

  test.each([
    'UPDATE t SET a = 1',
    'delete from t',
    'MERGE INTO t USING u ON true',
    'truncate t',
    'ALTER TABLE t ADD COLUMN c INT',
    'alter table t rename column a to b',
    'ALTER TABLE t RENAME a TO b',
  ])('%s is refused with what to do instead', async (sql) => {
    await expect(parseUpdate(sql)).rejects.toThrow(
      expect.objectContaining({
        code: 'permission_denied',
        hint: expect.stringContaining('CREATE OR REPLACE TABLE'),
      }),
    );
  });

  test.each([
    'SELECT 1',
    'WITH created AS (SELECT 1) FROM created',
    '',
    'created',
    'dropping',
    '-- CREATE TABLE',
    '"CREATE"',
    'CREATE VIEW v AS SELECT 1',
    'CREATE OR REPLACE TEMP TABLE t AS SELECT 1',
    'DROP VIEW v',
    'ALTER VIEW v RENAME TO w',
  ])('%s does not', async (sql) => {
    expect(await parseUpdate(sql)).toBeUndefined();
  });

  test('keeps the positions of its query', async () => {
    const sql = 'CREATE TABLE t\nAS SELECT oops';
    const update = await parseUpdate(sql);
    expect(update?.kind === 'create' && update.select).toBe('              \n   SELECT oops');
  });

  test.each([
    ['CREATE TABLE t', 'the name of the table is not followed by AS or ('],
    ['CREATE TABLE AS SELECT 1', 'the name of the table is not followed by AS or ('],
    ['CREATE TABLE t ()', 'the name of a column is missing'],
    ['CREATE TABLE t (a)', 'the type of column a is missing'],
    ['CREATE TABLE t (a INT', 'the list of columns is not followed by )'],
    ['CREATE TABLE t (a INT) AS SELECT 1', 'something follows the columns of the table'],
    ["CREATE TABLE t (a TEXT 'x)", 'a quote is not closed'],
    ['CREATE TABLE t (a INT PRIMARY KEY)', 'a frame has no keys, no constraints and no default values'],
    ['CREATE TABLE t (a INT, PRIMARY KEY (a))', 'a frame has no keys, no constraints and no default values'],
    ['CREATE TABLE t (a INT DEFAULT 1)', 'a frame has no keys, no constraints and no default values'],
    ['CREATE TABLE t (a VARCHAR (5) PRIMARY KEY)', 'a frame has no keys, no constraints and no default values'],
    [`CREATE TABLE t (a ${'()'.repeat(40_000)})`, 'a definition is longer than 65536 characters'],
    [`CREATE TABLE t (${`a ${'x'.repeat(60_000)},`.repeat(9)} b INT)`, 'the columns have more than 524288 characters'],
    ['INSERT t VALUES (1)', 'INSERT is not followed by INTO'],
    ['INSERT INTO t', 'VALUES or a query is missing'],
    ['INSERT INTO t (a,) VALUES (1)', 'the name of a column is missing'],
    ['CREATE TABLE', 'the name of the table is missing'],
    ['CREATE TABLE "" AS SELECT 1', 'the name of the table is missing'],
    ['DROP TABLE a, b', 'something follows the name of the table'],
    ['DROP TABLE t; DROP TABLE u', 'something follows the name of the table'],
    ['ALTER TABLE', 'the name of the table is missing'],
    ['ALTER TABLE a RENAME TO', 'the name of the table is missing'],
    ['RENAME TABLE a b', 'the name of the table is not followed by TO'],
    ["RENAME TABLE 'a' TO 'b'", 'the name of the table is not in double quotes'],
    ['RENAME TABLE a TO b c', 'something follows the new name of the table'],
    ['ALTER TABLE flights-2k RENAME TO b', 'the name of the table has a dash and is not in double quotes'],
    ['ALTER TABLE a RENAME TO my-b', 'the name of the table has a dash and is not in double quotes'],
    ['ALTER TABLE a RENAME TO 2024prices', 'the name of the table is not in double quotes'],
    ["DROP TABLE 'a'", 'the name of the table is not in double quotes'],
    ['CREATE TABLE a-b AS SELECT 1', 'the name of the table has a dash and is not in double quotes'],
    ['ALTER TABLE a RENAME TO b, c', 'something follows the new name of the table'],
    ['DROP TABLE a.b.c.d', 'the name of the table has more than three parts'],
  ])('%s is invalid_sql', async (sql, message) => {
    await expect(parseUpdate(sql)).rejects.toThrow(message);
  });

  test('a constraint is refused with what to write instead', async () => {
    await expect(parseUpdate('CREATE TABLE t (id BIGINT NOT NULL, PRIMARY KEY (id))')).rejects.toThrow(
      expect.objectContaining({ code: 'invalid_sql', hint: expect.stringContaining('Leave PRIMARY KEY') }),
    );
  });

  test('reports error positions in code points', async () => {
    await expect(parseUpdate('/* 🦆 */ DROP TABLE é, b')).rejects.toThrow(expect.objectContaining({ position: 20 }));
    const update = await parseUpdate('CREATE TABLE "🦆" AS oops');
    expect(update?.kind === 'create' && update.select.indexOf('oops')).toBe(20);
  });

  test.each(['DROP TABLE other.t', 'DROP TABLE disk.main.t', 'ALTER TABLE t RENAME TO other.t'])(
    '%s is in another schema',
    async (sql) => {
      await expect(parseUpdate(sql)).rejects.toThrow('There is no schema');
    },
  );
});

test.each([
  ['create table', true],
  ['CREATE OR REPLACE TABLE t AS SELECT 1', true],
  ['/* x */ drop table', true],
  ['insert', true],
  ['DELETE FROM t', true],
  ["SET timezone = 'UTC'", true],
  ['CREATE VIEW v AS SELECT 1', false],
  ['SELECT 1 -- INSERT', false],
  ['inserted', false],
  ['', false],
])('%s begins like an update: %s', (sql, begins) => {
  expect(beginsUpdate(sql)).toBe(begins);
});
