import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { parseHandle, streamFromTable } from '@svc/frames';
import { longFrame, SAMPLE_FRAMES } from '@svc/frames/testing';
import { Table, tableFromArrays } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isShadowed } from '../../src/child/sql/sql-catalogue.ts';
import { CATALOGUE_TABLES } from '../../src/wire/sql-names.ts';
import { ALLOWED_FUNCTIONS } from '../../src/child/sql/generated/allowed-functions.ts';
import { namesIn } from '../../src/child/sql/refused-functions.ts';
import { callOf, createSqlFixture, type SqlFixture } from '../../src/testing/sql-fixture.ts';
import { byTier } from '../../../../test/tier.ts';

let fixture: SqlFixture;

/** Words before a parenthesis that are not functions. */
const KEYWORDS = new Set(['and', 'as', 'exists', 'in', 'not', 'or', 'over', 'values', 'when', 'where']);

beforeAll(async () => {
  fixture = await createSqlFixture({}, { hasTenants: true });
  await put('trades', longFrame(5));
  await put('a.b-c', longFrame(0));
  await put('secret', longFrame(3), 'another');
  // Creates the view of the frame, which must not be shown either.
  await fixture.rows('FROM trades');
});

afterAll(() => fixture.close());

async function put(
  handle: string,
  stream: Parameters<SqlFixture['store']['put']>[1],
  tenant = 'default',
): Promise<void> {
  await fixture.store.put({ tenant, handle: parseHandle(handle) }, stream);
}

describe('the catalogue shows the frames of the caller, and nothing else', () => {
  test.each<readonly [string, unknown[][]]>([
    ['SHOW TABLES', [['a.b-c'], ['trades']]],
    ['SHOW TABLES FROM main', [['a.b-c'], ['trades']]],
    ["SELECT name FROM (SHOW TABLES) WHERE name LIKE 't%'", [['trades']]],
    [
      'SELECT database, schema, name FROM (SHOW ALL TABLES)',
      [
        ['memory', 'main', 'a.b-c'],
        ['memory', 'main', 'trades'],
      ],
    ],
    ['SELECT name FROM (DESCRIBE)', [['a.b-c'], ['trades']]],
    ['SHOW DATABASES', [['memory']]],
    ['SHOW SCHEMAS', [['memory', 'main', true]]],
    [
      'SELECT table_name, estimated_size FROM duckdb_tables() ORDER BY ALL',
      [
        ['a.b-c', 0n],
        ['trades', 5n],
      ],
    ],
    [
      "SELECT table_name, column_name, data_type FROM Duckdb_Columns() WHERE table_name = 'trades'",
      [['trades', 'id', 'BIGINT']],
    ],
    ['SELECT view_name FROM duckdb_views()', []],
    ['SELECT schema_name FROM duckdb_schemas()', [['main']]],
    ['SELECT database_name, path FROM duckdb_databases()', [['memory', null]]],
    [
      'SELECT table_schema, table_name, table_type FROM information_schema.tables ORDER BY ALL',
      [
        ['main', 'a.b-c', 'BASE TABLE'],
        ['main', 'trades', 'BASE TABLE'],
      ],
    ],
    ["SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'trades'", [['id', 'BIGINT']]],
    ['SELECT tablename FROM pg_catalog.pg_tables ORDER BY ALL', [['a.b-c'], ['trades']]],
    [
      'SELECT relname, attname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid ORDER BY ALL',
      [
        ['a.b-c', 'id'],
        ['trades', 'id'],
      ],
    ],
    ["SELECT count(*)::INTEGER FROM duckdb_functions() WHERE database_name = 'memory'", [[0]]],
    ['SELECT max(id) FROM trades, information_schema.tables', [[4n]]],
  ])('%s', async (sql, rows) => {
    expect(await fixture.rows(sql)).toEqual(rows);
  });

  test('of each tenant', async () => {
    const sql = 'SELECT table_name FROM information_schema.tables';
    expect(await fixture.rows(sql, {}, callOf('another'))).toEqual([['secret']]);
    expect(await fixture.rows(sql, {}, callOf('stranger'))).toEqual([]);
  });

  test('as they are now', async () => {
    const columns = (): Promise<unknown[][]> =>
      fixture.rows("SELECT column_name FROM duckdb_columns() WHERE table_name = 'passing' ORDER BY column_index");
    expect(await columns()).toEqual([]);
    await put('passing', longFrame(1));
    expect(await columns()).toEqual([['id']]);
    await put('passing', streamFromTable(tableFromArrays({ x: [1.5], y: ['a'] })));
    expect(await columns()).toEqual([['x'], ['y']]);
    await fixture.store.drop({ tenant: 'default', handle: parseHandle('passing') });
    expect(await columns()).toEqual([]);
  });

  test('even if frames have the names of catalogue functions', async () => {
    for (const handle of ['duckdb_tables', 'duckdb_columns']) await put(handle, longFrame(1));
    expect(await fixture.rows('SELECT count(*)::INTEGER FROM duckdb_tables, duckdb_columns')).toEqual([[1]]);
    const columns = "SELECT column_name FROM information_schema.columns WHERE table_name = 'duckdb_tables'";
    expect(await fixture.rows(columns)).toEqual([['id']]);
    expect(await fixture.rows("SELECT name FROM (SHOW ALL TABLES) WHERE name LIKE 'duckdb%'")).toHaveLength(2);
    for (const handle of ['duckdb_tables', 'duckdb_columns']) {
      await fixture.store.drop({ tenant: 'default', handle: parseHandle(handle) });
    }
  });

  test('including foreign files', async () => {
    const file = join(fixture.directory, 'default', 'prices.csv');
    await writeFile(file, 'symbol,price\na,1.5\n');
    const sql = "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'prices'";
    expect(await fixture.rows(sql)).toEqual([
      ['symbol', 'VARCHAR'],
      ['price', 'DOUBLE'],
    ]);
  });
});

describe("QuestDB's functions show the frames of the caller", () => {
  beforeAll(async () => {
    const rows = { s: ['a', 'b'], x: [1.5, 2.5] };
    await put('kinds', streamFromTable(tableFromArrays(rows)));
  });
  afterAll(() => fixture.store.drop({ tenant: 'default', handle: parseHandle('kinds') }));

  test.each<readonly [string, unknown[][]]>([
    [
      "SELECT table_name, table_row_count FROM tables() WHERE table_name IN ('a.b-c', 'kinds', 'trades')",
      [
        ['a.b-c', 0n],
        ['kinds', 2n],
        ['trades', 5n],
      ],
    ],
    ['SELECT min(id) FROM tables()', [[1]]],
    [
      `SELECT "designatedTimestamp", "partitionBy", "walEnabled", dedup, "matView", table_type FROM tables()
        WHERE table_name = 'trades'`,
      [[null, 'NONE', false, false, false, 'T']],
    ],
    [
      'SELECT "column", type, designated FROM table_columns(\'Kinds\')',
      [
        ['s', 'SYMBOL', false],
        ['x', 'DOUBLE', false],
      ],
    ],
    [
      "SELECT table_name, column_name, ordinal_position, data_type FROM questdb_columns() WHERE table_name = 'kinds'",
      [
        ['kinds', 's', 0, 'SYMBOL'],
        ['kinds', 'x', 1, 'DOUBLE'],
      ],
    ],
    ['SELECT max(trades.id) FROM trades, tables()', [[4n]]],
  ])('%s', async (sql, rows) => {
    expect(await fixture.rows(sql)).toEqual(rows);
  });

  test('of each tenant', async () => {
    const call = callOf('another');
    expect(await fixture.rows('SELECT table_name FROM tables()', {}, call)).toEqual([['secret']]);
    expect(await fixture.rows('SELECT table_name FROM questdb_columns()', {}, call)).toEqual([['secret']]);
    expect(await fixture.rows('SELECT table_name FROM tables()', {}, callOf('stranger'))).toEqual([]);
  });

  test.each(['nope', 'secret'])('a frame that the caller does not have is an error: %s', async (name) => {
    await expect(fixture.rows(`FROM table_columns('${name}')`)).rejects.toMatchObject({
      code: 'invalid_sql',
      message: expect.stringContaining(`There is no frame "${name}".`),
    });
  });

  test('also if frames have the names of the functions', async () => {
    await put('tables', longFrame(1));
    expect(await fixture.rows('SELECT count(*)::INTEGER FROM tables')).toEqual([[1]]);
    expect(await fixture.rows("SELECT table_name FROM tables() WHERE table_name = 'tables'")).toEqual([['tables']]);
    await fixture.store.drop({ tenant: 'default', handle: parseHandle('tables') });
  });
});

describe('columns have the types that DESCRIBE shows', () => {
  for (const [options, samples] of byTier(SAMPLE_FRAMES)) {
    test.each(samples)('$name', options, async ({ schema }) => {
      await put('sample', streamFromTable(new Table(schema)));
      const sql =
        "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'sample' ORDER BY column_index";
      const described = await fixture.rows('SELECT column_name, column_type FROM (DESCRIBE sample)');
      expect(await fixture.rows(sql)).toEqual(described);
    });
  }
});

describe('tables of the catalogue', () => {
  test.each(CATALOGUE_TABLES)('%s shows nothing of how frames are kept', { tags: ['slow'] }, async (table) => {
    const text = await fixture.text(`FROM ${table}`);
    for (const secret of ['"secret"', '.parquet', 'trades@', ' shapes', ' sizes', fixture.directory]) {
      expect(text.includes(secret)).toBe(false);
    }
  });

  test('call only functions of DuckDB that are replaced or allowed', async () => {
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const views = await connection.runAndReadAll(
      "SELECT schema_name || '.' || view_name, sql FROM duckdb_views() WHERE internal",
    );
    const texts = new Map(views.getRows().map(([name, sql]) => [String(name), String(sql)]));
    const allowed = new Set(namesIn(`${ALLOWED_FUNCTIONS.values} ${ALLOWED_FUNCTIONS.tables}`));
    for (const table of CATALOGUE_TABLES) {
      const called = [...(texts.get(table) ?? 'missing(').matchAll(/\b([a-z_]+)\(/g)].map(([, name = '']) => name);
      expect(called.filter((name) => !isShadowed(name) && !allowed.has(name) && !KEYWORDS.has(name))).toEqual([]);
    }
  });
});
