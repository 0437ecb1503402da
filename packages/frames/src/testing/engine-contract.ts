import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Call } from '../call.ts';
import { columnInfo } from '../column-types.ts';
import type { Engine, QueryOptions } from '../engine.ts';
import { type FrameRef, parseHandle } from '../store.ts';
import type { FrameStream } from '../streams.ts';
import { longFrame, readRows } from './sample-frames.ts';

/** An engine, and the store of its frames. */
export interface EngineContractParts {
  readonly engine: Engine;
  readonly store: EngineContractStore;
  /** The number of statements the engine runs concurrently. */
  readonly maxConcurrent: number;
  close(): Promise<void>;
}

/** The changes of frames the suite makes. */
export interface EngineContractStore {
  put(ref: FrameRef, frame: FrameStream): Promise<unknown>;
  drop(ref: FrameRef): Promise<unknown>;
}

/** What an engine cannot do. */
export interface EngineContractOptions {
  /** True if the store has the frames of several tenants. Default true. */
  readonly hasTenants?: boolean;
  /** True if statements can have parameters. Default true. */
  readonly hasParameters?: boolean;
}

/**
 * The contract of all engines, in SQL that all dialects share. `create` makes an engine over an empty store; the suite closes
 * it.
 */
export function engineContract(
  title: string,
  create: () => Promise<EngineContractParts>,
  { hasTenants = true, hasParameters = true }: EngineContractOptions = {},
): void {
  describe(`${title} keeps the engine contract`, () => {
    let parts: EngineContractParts;

    beforeAll(async () => {
      parts = await create();
      await parts.store.put(refOf('trades'), longFrame(5));
      if (hasTenants) await parts.store.put(refOf('secret', 'another'), longFrame(1));
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

    test('rows come in the order of the statement', async () => {
      expect(await rows('SELECT id FROM trades ORDER BY id DESC')).toEqual([[4n], [3n], [2n], [1n], [0n]]);
      const sql = 'WITH t AS (SELECT id FROM trades WHERE id < 3) SELECT id FROM t ORDER BY id DESC';
      expect(await rows(sql)).toEqual([[2n], [1n], [0n]]);
    });

    test('a table of the statement hides a frame', async () => {
      const sql = 'WITH trades AS (SELECT id FROM trades WHERE id = 3) SELECT id FROM trades';
      expect(await rows(sql)).toEqual([[3n]]);
    });

    test.runIf(hasParameters)('parameters are given in order', async () => {
      const params = [2n, 'x'];
      expect(await rows("SELECT id FROM trades WHERE id = ? AND ? = 'x'", { params })).toEqual([[2n]]);
      expect(await rows("SELECT id FROM trades WHERE id = ? AND ? = 'y'", { params })).toEqual([]);
    });

    test.each([
      ['SELECT ?', []],
      ['SELECT 1', [1]],
    ])('%s with the values %o is invalid_sql', async (sql, params) => {
      await expect(rows(sql, { params })).rejects.toMatchObject({ code: 'invalid_sql', query: sql });
    });

    test('describe returns the columns', async () => {
      const info = await parts.engine.describe(callOf(), 'SELECT id, id + 1 AS following FROM trades');
      expect(info.schema.fields.map((field) => columnInfo(field))).toMatchObject([
        { name: 'id', type: 'LONG' },
        { name: 'following', type: 'LONG' },
      ]);
      expect(info.parameters.fields).toEqual([]);
    });

    test.runIf(hasParameters)('describe returns a field for each parameter', async () => {
      const info = await parts.engine.describe(callOf(), 'SELECT id FROM trades WHERE id = ? OR id = ?');
      expect(info.schema.names).toEqual(['id']);
      expect(info.parameters.fields).toHaveLength(2);
    });

    test('an unknown table is invalid_sql', async () => {
      const sql = 'SELECT * FROM trade';
      const failure = { code: 'invalid_sql', query: sql };
      await expect(rows(sql)).rejects.toMatchObject(failure);
      await expect(parts.engine.describe(callOf(), sql)).rejects.toMatchObject(failure);
    });

    test.runIf(hasTenants)('the frame of another tenant is not visible', async () => {
      await expect(rows('SELECT * FROM secret')).rejects.toMatchObject({ code: 'invalid_sql' });
      expect(await rows('SELECT * FROM secret', {}, callOf('another'))).toEqual([[0n]]);
    });

    test.each([
      ['DELETE FROM trades', 'permission_denied'],
      ['SELECT 1; SELECT 2', 'invalid_sql'],
      ['SELECT (1', 'invalid_sql'],
      ['', 'invalid_sql'],
    ])('%o is %s', async (sql, code) => {
      await expect(rows(sql)).rejects.toMatchObject({ code });
      await expect(parts.engine.describe(callOf(), sql)).rejects.toMatchObject({ code });
    });

    test('a statement that waits reports its place, and then that it runs', async () => {
      const states = Array.from({ length: parts.maxConcurrent + 2 }, (): unknown[] => []);
      const all = states.map((seen) =>
        rows('SELECT count(*) FROM trades', {
          monitor: {
            queued: (place) => void seen.push(place(), place),
            running: () => void seen.push('running'),
            progressed: () => undefined,
          },
        }),
      );
      expect(await Promise.all(all)).toEqual(states.map(() => [[5n]]));
      const [next, last] = states.slice(-2);
      expect(states.slice(0, -2)).toEqual(states.slice(0, -2).map(() => ['running']));
      expect(next).toEqual([{ position: 1, length: 1 }, expect.any(Function), 'running']);
      expect(last).toEqual([{ position: 2, length: 2 }, expect.any(Function), 'running']);
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
      await expect(rows('SELECT * FROM changing')).rejects.toMatchObject({ code: 'invalid_sql' });
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
