import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDecoders, encodeArrowStream, parseHandle, type SqlValue } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDurableStore, type DurableStore } from '../../src/store/durable-store.ts';
import { createFrameFiles } from '../../src/files/create-frame-files.ts';
import { callOf, createSqlFixture, rowsOf, type SqlFixture } from '../../src/testing/sql-fixture.ts';
import { createSqlEngine } from '../../src/sql/engine.ts';

let fixture: SqlFixture;
const decoders = createDecoders();

beforeAll(async () => {
  fixture = await createSqlFixture({}, { decoders });
  await fixture.store.put({ tenant: 'default', handle: parseHandle('trades') }, longFrame(5));
});

afterAll(async () => {
  await fixture.close();
  await decoders.close();
});

async function failureOf(sql: string, params: readonly SqlValue[] = []): Promise<Record<string, unknown>> {
  const error: unknown = await fixture.rows(sql, { params }).then(
    () => new Error('It was answered.'),
    (thrown: unknown) => thrown,
  );
  const { code, message, hint, position } = Object(error);
  return { code, message, hint, position };
}

describe('errors of SQL that fails', () => {
  test.each([
    ['SELECT nope FROM trades', 'Referenced column "nope" not found in FROM clause!', 7],
    ["SELECT 'é😀', nope", 'Referenced column "nope" was not found', 13],
    ["SELECT 'é', CAST('x' AS INTEGER)", "Could not convert string 'x' to INT32", 12],
    ['SELECT\n  1,\n  nope', 'Referenced column "nope"', 14],
    ["SELECT CAST(id || 'x' AS INTEGER) FROM trades", "Could not convert string '0x' to INT32", 7],
    [`SELECT ${'1, '.repeat(200)}nope`, 'Referenced column "nope"', 607],
    ["EXPLAIN  SELECT 'é', nope", 'Referenced column "nope"', 21],
    ['SELECT sum(id, 1, 2) FROM trades', 'No function matches the given name and argument types', 7],
    ["SELECT id::BIT, 'é', CAST(id || 'x' AS INTEGER) FROM trades; -- é", 'to INT32', 21],
    ['FROM trades ORDER BY 7', 'ORDER term out of range', 21],
    ['SELECT 1 FROM', 'Syntax error at end of input', 13],
  ])('%s', async (sql, message, position) => {
    const failure = await failureOf(sql);
    expect(failure).toMatchObject({ code: 'invalid_sql', position });
    expect(failure['message']).toContain(message);
    expect(failure['message']).not.toMatch(/LINE|Error:|[{}]/);
  });

  // DuckDB reports the end of a stream and a failure in its middle alike.
  test.each<[string, string, readonly SqlValue[]]>([
    ['plain', "SELECT CASE WHEN i < 300000 THEN 0 ELSE error('boo') END FROM range(900000) t(i)", []],
    ['with a parameter', "SELECT CASE WHEN i < $1 THEN 0 ELSE error('boo') END FROM range(900000) t(i)", [300_000]],
    [
      'with a cast of ours',
      "SELECT CASE WHEN i < 300000 THEN '1'::BIT ELSE error('boo') END FROM range(900000) t(i)",
      [],
    ],
    ['in a conversion', "SELECT (CASE WHEN i < 300000 THEN '1' ELSE 'boo' END)::INT FROM range(900000) t(i)", []],
  ])('SQL that fails after its first rows fails: %s', async (_name, sql, params) => {
    expect(await failureOf(sql, params)).toMatchObject({
      code: 'invalid_sql',
      message: expect.stringContaining('boo'),
    });
  });

  test('errors that SQL raises keep their message', async () => {
    expect(await failureOf("SELECT error('enough')")).toMatchObject({ code: 'invalid_sql', message: 'enough.' });
  });

  test('SQL with a NUL character is refused: DuckDB would ignore the rest', async () => {
    expect(await failureOf("SELECT 'é', 1\0 UNION ALL SELECT 'b', 2")).toMatchObject({
      code: 'invalid_sql',
      message: 'The SQL has a NUL character.',
      position: 13,
    });
  });

  test('thousands of CTEs do not stop the engine', async () => {
    const ctes = Array.from({ length: 10_000 }, (_, i) => `c${i} AS (SELECT ${i})`).join();
    expect(await failureOf(`WITH ${ctes} FROM c1`)).toMatchObject({ code: 'invalid_sql' });
  });

  test('SQL that is too long is refused', async () => {
    expect(await failureOf(`SELECT '${'x'.repeat(1024 * 1024)}'`)).toMatchObject({ code: 'invalid_sql' });
  });
});

describe('parameters', () => {
  test.each<readonly [string, SqlValue, string]>([
    ['INTEGER', 5, '5'],
    ['BIGINT', 5_000_000_000, '5000000000'],
    ['BIGINT', 7n, '7'],
    ['HUGEINT', 2n ** 100n, '1267650600228229401496703205376'],
    ['DOUBLE', 0.1, '0.1'],
    ['DOUBLE', -0, '-0.0'],
    ['DOUBLE', Infinity, 'inf'],
    ['DOUBLE', NaN, 'nan'],
    ['BOOLEAN', true, 'true'],
    ['VARCHAR', "it's \u0000é", "it's \u0000é"],
    ['BLOB', new Uint8Array([0, 92, 255]), '\\x00\\x5C\\xFF'],
    ['TIMESTAMP', { type: 'timestamp', text: '2024-01-02 03:04:05.000006' }, '2024-01-02 03:04:05.000006'],
    ['TIMESTAMP_NS', { type: 'TIMESTAMP_NS', text: '2024-01-02 03:04:05.123456789' }, '2024-01-02 03:04:05.123456789'],
    ['TIMESTAMP WITH TIME ZONE', { type: 'TIMESTAMPTZ', text: '2024-01-02 03:04:05+01' }, '2024-01-02 02:04:05+00'],
    ['DATE', { type: 'DATE', text: '2024-01-02' }, '2024-01-02'],
    ['TIME', { type: 'TIME', text: '03:04:05.000006' }, '03:04:05.000006'],
    ['DECIMAL(10,2)', { type: 'decimal(10, 2)', text: '1.10' }, '1.10'],
    ['UUID', { type: 'UUID', text: '11111111-2222-3333-4444-555555555555' }, '11111111-2222-3333-4444-555555555555'],
    ['INTERVAL', { type: 'INTERVAL', text: '1 month 2 days' }, '1 month 2 days'],
    ['UBIGINT', { type: 'UBIGINT', text: '18446744073709551615' }, '18446744073709551615'],
  ])('%s: %o', async (type, value, text) => {
    expect(await fixture.rows('SELECT typeof($1)', { params: [value] })).toEqual([[type]]);
    expect(await fixture.rows('SELECT CAST($1 AS VARCHAR)', { params: [value] })).toEqual([[text]]);
  });

  test('null is null', async () => {
    expect(await fixture.rows('SELECT $1 IS NULL, $1', { params: [null] })).toEqual([[true, null]]);
  });

  test('one can be used several times', async () => {
    expect(await fixture.rows('SELECT id FROM trades WHERE id = $1 OR id = $1 + $2', { params: [1, 2] })).toEqual([
      [1n],
      [3n],
    ]);
  });

  test.each([
    [{ type: 'TIMESTAMP', text: 'soon' }, 'invalid_sql', 'soon'],
    [{ type: 'trades', text: 'x' }, 'invalid_argument', 'trades'],
    [{ type: 'INT); DROP', text: 'x' }, 'invalid_argument', 'DROP'],
  ])('%o is %s', async (value, code, part) => {
    const failure = await failureOf('SELECT $1', [value]);
    expect(failure['code']).toBe(code);
    expect(failure['message']).toContain(part);
  });

  test('describe returns their types, and null if any type fits', async () => {
    const sql = 'SELECT $1 FROM trades WHERE id > $2 LIMIT $3';
    const { parameters } = await fixture.engine.describe(callOf(), sql);
    expect(parameters.fields.map(({ name, type }) => `${name} ${type}`)).toEqual(['1 Null', '2 Int64', '3 Int64']);
  });
});

describe('statements about frames', () => {
  test('SHOW TABLES', async () => {
    expect(await fixture.rows('SHOW TABLES')).toEqual([['trades']]);
    expect((await fixture.engine.describe(callOf(), 'SHOW TABLES')).schema.names).toEqual(['name']);
  });

  test('DESCRIBE and SUMMARIZE', async () => {
    expect(await fixture.rows('DESCRIBE trades')).toEqual([['id', 'BIGINT', 'YES', null, null, null]]);
    expect(await fixture.rows('SELECT column_name, min, max FROM (SUMMARIZE trades)')).toEqual([['id', '0', '4']]);
  });

  test.each(['EXPLAIN', 'EXPLAIN ANALYZE', 'EXPLAIN (FORMAT json)', 'EXPLAIN (ANALYZE, FORMAT json)'])(
    '%s shows a plan, but not where frames are stored',
    async (explain) => {
      const text = JSON.stringify(await fixture.rows(`${explain} SELECT sum(id) FROM trades`));
      expect(text).toContain('AGGREGATE');
      // The drawing of a plan would break a path into several lines.
      expect(text.replaceAll(/[│\s]|\\n/g, '')).not.toContain(fixture.directory.replaceAll(' ', ''));
      expect(text).not.toContain('frames');
    },
  );
});

test('a long result arrives complete, in order and in batches', async () => {
  const result = await fixture.engine.query(callOf(), 'SELECT i, i::VARCHAR FROM range(200000) t(i)');
  let rows = 0;
  let batches = 0;
  for await (const batch of result.batches) {
    expect(batch.get(0)?.toArray()).toEqual([BigInt(rows), String(rows)]);
    rows += batch.numRows;
    batches += 1;
  }
  expect(rows).toBe(200_000);
  expect(batches).toBeGreaterThan(2);
});

test('the order is kept if columns have types that are written as text', async () => {
  const rows = await fixture.rows(
    'SELECT (i::BIT)::VARCHAR = b::VARCHAR, b FROM (SELECT i, i::BIT b FROM range(5000) t(i)) ORDER BY i DESC',
  );
  expect(rows.map(([, bits]) => Number.parseInt(String(bits), 2))).toEqual(
    Array.from({ length: 5000 }, (_, i) => 4999 - i),
  );
  expect(rows.every(([isSame]) => isSame)).toBe(true);
});

describe('foreign frames', () => {
  const folder = () => join(fixture.directory, 'default');

  test('files are tables with their current content', { tags: ['slow'] }, async () => {
    await writeFile(join(folder(), 'prices.csv'), 'sym,price\na,1.5\nb,2\n');
    expect(await fixture.rows('SELECT sum(price) FROM prices')).toEqual([[3.5]]);
    expect(await fixture.rows('SELECT sum(price) FROM Prices')).toEqual([[3.5]]);
    await writeFile(join(folder(), 'prices.csv'), 'sym,price\na,10\nb,20\nc,30\n');
    expect(await fixture.rows('SELECT max(price) FROM prices')).toEqual([[30n]]);
    const bytes: Uint8Array[] = [];
    for await (const part of encodeArrowStream(longFrame(3))) bytes.push(part.slice());
    await writeFile(join(fixture.directory, 'arrows.arrow'), Buffer.concat(bytes));
    expect(await fixture.rows('SELECT max(id) FROM arrows')).toEqual([[2n]]);
    const duckdb = await (await DuckDBInstance.create(':memory:')).connect();
    const path = join(fixture.directory, 'others.parquet').replaceAll("'", "''");
    await duckdb.run(`COPY (SELECT [1, 2] AS l, {'a': 1} AS s, 'x'::ENUM('x') AS e) TO '${path}' (FORMAT parquet)`);
    expect(await fixture.text('FROM others')).toBe('{"l":[1,2],"s":{"a":1},"e":"x"}\n');
    expect(await fixture.rows('SHOW TABLES')).toEqual([['arrows'], ['others'], ['prices'], ['trades']]);
  });

  test('a replaced file is another table', async () => {
    const duckdb = await (await DuckDBInstance.create(':memory:')).connect();
    const path = join(folder(), 'replaced.parquet').replaceAll("'", "''");
    await duckdb.run(`COPY (SELECT 1 AS a) TO '${path}' (FORMAT parquet)`);
    expect(await fixture.text('FROM replaced')).toBe('{"a":1}\n');
    await duckdb.run(`COPY (SELECT 'x' AS b, 2 AS a) TO '${path}' (FORMAT parquet)`);
    expect(await fixture.text('FROM replaced')).toBe('{"b":"x","a":2}\n');
  });

  test('one that takes too long to read is deadline_exceeded', { tags: ['slow'] }, async () => {
    const slow: DurableStore = { ...fixture.store, pin: () => new Promise(() => {}) };
    const engine = createSqlEngine({ store: slow, tempDirectory: fixture.tempDirectory, timeoutMs: 2000 });
    await expect(rowsOf(engine, 'FROM trades')).rejects.toMatchObject({ code: 'deadline_exceeded' });
    await engine.close();
  });

  test('one that cannot be read is invalid_data', async () => {
    await writeFile(join(folder(), 'broken.parquet'), 'PAR1 and nothing more');
    expect(await failureOf('FROM broken')).toMatchObject({ code: 'invalid_data' });
  });

  test('tables of a database are tables, also in a read-only store', { tags: ['slow'] }, async () => {
    const duckdbPath = join(fixture.tempDirectory, 'analytics.duckdb');
    const database = await DuckDBInstance.create(duckdbPath);
    const connection = await database.connect();
    await connection.run('CREATE TABLE quotes AS SELECT 42::HUGEINT AS bid');
    connection.closeSync();
    database.closeSync();
    const store = await createDurableStore({
      directory: fixture.directory,
      files: createFrameFiles({ tempDirectory: fixture.tempDirectory }),
      duckdbPath,
      isReadOnly: true,
    });
    const engine = createSqlEngine({ store, tempDirectory: fixture.tempDirectory });
    try {
      expect(await rowsOf(engine, 'SELECT bid::INTEGER, id FROM quotes, trades WHERE id = 1')).toEqual([[42, 1n]]);
    } finally {
      await engine.close();
      await store.close();
    }
  });
});
