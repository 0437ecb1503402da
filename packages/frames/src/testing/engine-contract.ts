import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Call } from '../call.ts';
import { columnInfo } from '../column-types.ts';
import type { Engine, QueryOptions } from '../engine.ts';
import { parseHandle } from '../handle.ts';
import type { FrameRef, Store } from '../store.ts';
import { longFrame, readRows } from './sample-frames.ts';

/** An engine, and the store of its frames. */
export interface EngineContractParts {
  readonly engine: Engine;
  readonly store: Store;
  /** The number of statements the engine runs concurrently. */
  readonly maxConcurrent: number;
  close(): Promise<void>;
}

/** The contract of all engines. `create` makes one over an empty store; the suite closes it. */
export function engineContract(title: string, create: () => Promise<EngineContractParts>): void {
  describe(`${title} keeps the engine contract`, () => {
    let parts: EngineContractParts;

    beforeAll(async () => {
      parts = await create();
      await parts.store.put(refOf('trades'), longFrame(5));
      await parts.store.put(refOf('secret', 'another'), longFrame(1));
    });

    afterAll(() => parts.close());

    async function rows(sql: string, options?: QueryOptions, call = callOf()): Promise<unknown[][]> {
      const result = await parts.engine.query(call, sql, options);
      try {
        return await readRows(result);
      } finally {
        result.close();
      }
    }

    test('a frame is a table under its handle, in any letter case', async () => {
      expect(await rows('SELECT id FROM trades WHERE id >= 3 ORDER BY id')).toEqual([[3n], [4n]]);
      expect(await rows('SELECT max(ID) FROM Trades')).toEqual([[4n]]);
    });

    test('a result without rows has its columns', async () => {
      const result = await parts.engine.query(callOf(), "SELECT id, 'x' AS name FROM trades WHERE id < 0");
      expect(result.schema.fields.map((field) => columnInfo(field))).toMatchObject([
        { name: 'id', type: 'LONG' },
        { name: 'name', type: 'STRING' },
      ]);
      expect(await readRows(result)).toEqual([]);
      result.close();
    });

    test('columns with the same name get numbers', async () => {
      const { schema } = await parts.engine.describe(callOf(), 'SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS "A"');
      expect(schema.names).toEqual(['a', 'a_1', 'a_1_1', 'A']);
    });

    test('parameters are given in order', async () => {
      const params = [2n, 'x'];
      expect(await rows('SELECT id, $2 || id FROM trades WHERE id = $1', { params })).toEqual([[2n, 'x2']]);
    });

    test.each([
      ['SELECT $1 + $2', [1]],
      ['SELECT ?', []],
      ['SELECT 1', [1]],
    ])('%s with the values %o is invalid_sql', async (sql, params) => {
      await expect(rows(sql, { params })).rejects.toMatchObject({ code: 'invalid_sql', query: sql });
    });

    test('describe returns columns and parameters, and runs nothing', async () => {
      const info = await parts.engine.describe(callOf(), "SELECT id, error('run') AS e FROM trades WHERE id = $1");
      expect(info.schema.names).toEqual(['id', 'e']);
      expect(info.parameters.fields.map(({ name, type }) => `${name} ${type}`)).toEqual(['1 Int64']);
    });

    test('an unknown table is invalid_sql, with its position', async () => {
      const sql = "SELECT 'é' FROM trade";
      const failure = { code: 'invalid_sql', query: sql, position: 16, hint: 'Did you mean "trades"?' };
      await expect(rows(sql)).rejects.toMatchObject(failure);
      await expect(parts.engine.describe(callOf(), sql)).rejects.toMatchObject(failure);
    });

    test('the frame of another tenant is not visible', async () => {
      await expect(rows('FROM secret')).rejects.toMatchObject({ code: 'invalid_sql' });
      expect(await rows('FROM secret', {}, callOf('another'))).toEqual([[0n]]);
    });

    test.each([
      ['DELETE FROM trades', 'permission_denied'],
      ['SELECT 1; SELECT 2', 'invalid_sql'],
      ['SELEKT 1', 'invalid_sql'],
      ['', 'invalid_sql'],
    ])('%o is %s', async (sql, code) => {
      await expect(rows(sql)).rejects.toMatchObject({ code });
      await expect(parts.engine.describe(callOf(), sql)).rejects.toMatchObject({ code });
    });

    test('results that are closed unread release their slots', async () => {
      for (let i = 0; i < 2 * parts.maxConcurrent; i++) {
        const result = await parts.engine.query(callOf(), 'SELECT * FROM trades, trades AS b');
        result.close();
        result.close();
      }
      expect(await rows('SELECT count(*) FROM trades')).toEqual([[5n]]);
    });

    test('a result stays on the version it started with', async () => {
      const ref = refOf('changing');
      await parts.store.put(ref, longFrame(3));
      const result = await parts.engine.query(callOf(), 'SELECT count(*) FROM changing a, changing b');
      await parts.store.put(ref, longFrame(1));
      expect(await readRows(result)).toEqual([[9n]]);
      result.close();
      expect(await rows('SELECT count(*) FROM changing')).toEqual([[1n]]);
      await parts.store.drop(ref);
      await expect(rows('FROM changing')).rejects.toMatchObject({ code: 'invalid_sql' });
    });

    test('an aborted call does not start', async () => {
      const call = { ...callOf(), signal: AbortSignal.abort(new Error('gone')) };
      await expect(rows('SELECT 1', {}, call)).rejects.toThrow();
    });

    test('a closed engine is unavailable', async () => {
      await parts.engine.close();
      await expect(rows('SELECT 1')).rejects.toMatchObject({ code: 'unavailable' });
    });
  });
}

function refOf(handle: string, tenant = 'default'): FrameRef {
  return { tenant, handle: parseHandle(handle) };
}

function callOf(tenant = 'default'): Call {
  return { tenant, requestId: 'test', signal: new AbortController().signal };
}
