import { parseHandle } from '@svc/frames';
import { engineContract, longFrame } from '@svc/frames/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callOf, createSqlFixture, rowsOf, type SqlFixture } from '../../src/testing/sql-fixture.ts';

engineContract('the local engine', async () => {
  const maxConcurrent = 2;
  const fixture = await createSqlFixture({ maxConcurrent }, { hasTenants: true });
  return { ...fixture, maxConcurrent };
});

describe('the local engine, in the dialect of DuckDB', () => {
  const call = callOf();
  let fixture: SqlFixture;

  beforeAll(async () => {
    fixture = await createSqlFixture();
    await fixture.store.put({ tenant: 'default', handle: parseHandle('trades') }, longFrame(5));
  });

  afterAll(() => fixture.close());

  test('columns with the same name get numbers', async () => {
    const { schema } = await fixture.engine.describe(call, 'SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS "A"');
    expect(schema.names).toEqual(['a', 'a_1', 'a_1_1', 'A']);
  });

  test('parameters with numbers are given in order', async () => {
    const params = [2n, 'x'];
    expect(await rowsOf(fixture.engine, 'SELECT id, $2 || id FROM trades WHERE id = $1', { params })).toEqual([
      [2n, 'x2'],
    ]);
    const sql = 'SELECT $1 + $2';
    await expect(rowsOf(fixture.engine, sql, { params: [1] })).rejects.toMatchObject({
      code: 'invalid_sql',
      query: sql,
    });
  });

  test('describe returns the types of parameters, and runs nothing', async () => {
    const info = await fixture.engine.describe(call, "SELECT id, error('run') AS e FROM trades WHERE id = $1");
    expect(info.schema.names).toEqual(['id', 'e']);
    expect(info.parameters.fields.map(({ name, type }) => `${name} ${type}`)).toEqual(['1 Int64']);
  });

  test('an unknown word is invalid_sql, with its position', async () => {
    await expect(rowsOf(fixture.engine, 'SELEKT 1')).rejects.toMatchObject({ code: 'invalid_sql', position: 0 });
  });

  test('an unknown table is invalid_sql, with its position', async () => {
    const sql = "SELECT 'é' FROM trade";
    const failure = { code: 'invalid_sql', query: sql, position: 16, hint: 'Did you mean "trades"?' };
    await expect(rowsOf(fixture.engine, sql)).rejects.toMatchObject(failure);
    await expect(fixture.engine.describe(call, sql)).rejects.toMatchObject(failure);
  });
});
