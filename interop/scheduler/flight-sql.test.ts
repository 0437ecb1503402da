import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDurableStore, createFrameFiles } from '../../packages/duckdb/dist/index.js';
import { type Engine, parseHandle } from '../../packages/frames/dist/index.js';
import { engineContract, longFrame, readRows } from '../../packages/frames/dist/testing/index.js';
import { createSchedulerEngine } from '../../packages/scheduler/dist/index.js';
import { programsOf } from './programs.ts';
import { startSailFlight } from './start-sail.js';

// Sail speaks the dialect of Spark. It has no parameters, no GetSchema and no GetSqlInfo.

let sail: Awaited<ReturnType<typeof startSailFlight>>;

beforeAll(async () => {
  sail = await startSailFlight(programsOf('sail'));
});

afterAll(() => sail.stop());

/** Creates an engine on Sail over an empty store. */
async function createEngine({ locate = (path: string) => pathToFileURL(path).href } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-frames-'));
  const files = createFrameFiles({ tempDirectory: folder });
  const store = await createDurableStore({ directory: join(folder, 'frames'), files, hasTenants: true });
  const maxConcurrent = 2;
  const engine = createSchedulerEngine({
    cluster: { protocol: 'flight-sql', host: '127.0.0.1', port: sail.port, hasTls: false },
    readFile: 'parquet.`{uri}`',
    frames: store,
    locate,
    maxConcurrent,
  });
  return {
    engine,
    store,
    maxConcurrent,
    async close() {
      await engine.close();
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}

engineContract('Sail over Flight SQL', createEngine, { hasParameters: false });

describe('Sail over Flight SQL', () => {
  const call = { tenant: 'default', requestId: 'test', signal: new AbortController().signal };
  const trades = { tenant: 'default', handle: parseHandle('trades') };
  let parts: Awaited<ReturnType<typeof createEngine>>;

  beforeAll(async () => {
    parts = await createEngine();
    await parts.store.put(trades, longFrame(300_000));
    await parts.store.append(trades, longFrame(300_000, { start: 300_000 }));
  });

  afterAll(() => parts.close());

  async function rows(sql: string, engine: Engine = parts.engine): Promise<unknown[][]> {
    const result = await engine.query(call, sql);
    try {
      return await readRows(result);
    } finally {
      result.close();
    }
  }

  test('reads all parts of a frame, under every spelling of its name', async () => {
    const sql = 'SELECT count(*), min(a.id), max(b.id) FROM trades a JOIN Trades b ON a.id = b.id';
    expect(await rows(sql)).toEqual([[600_000n, 0n, 599_999n]]);
  });

  test('keeps the order of a long answer', async () => {
    const result = await rows('WITH t AS (SELECT id FROM trades) SELECT id FROM t ORDER BY id DESC LIMIT 200000');
    expect(result).toHaveLength(200_000);
    expect(result.every(([id], i) => id === BigInt(599_999 - i))).toBe(true);
  });

  test('numbers columns of one name', async () => {
    const { schema } = await parts.engine.describe(call, 'SELECT id, id FROM trades');
    expect(schema.names).toEqual(['id', 'id_1']);
  });

  test('says where a statement cannot be read, in characters', async () => {
    const sql = "SELECT 'é' AS a FROM trades ORDER BY BY id";
    await expect(rows(sql)).rejects.toMatchObject({ code: 'invalid_sql', query: sql, position: 40 });
  });

  test('refuses parameters, which it does not have', async () => {
    const querying = parts.engine.query(call, 'SELECT id FROM trades WHERE id = ?', { params: [1] });
    await expect(querying).rejects.toMatchObject({ code: 'scheduler_failed' });
  });

  test('an error while it runs is scheduler_failed, not a short answer', async () => {
    const sql = 'SELECT CAST(concat(CAST(id AS STRING), substr(CAST(id AS STRING), 1, 0)) AS TINYINT) FROM trades';
    await expect(rows(sql)).rejects.toMatchObject({ code: 'scheduler_failed', query: sql });
  });

  test('a frame that it does not see is scheduler_failed, not an empty answer', async () => {
    const blind = await createEngine({ locate: (path) => `file:///nowhere${path}` });
    try {
      await blind.store.put(trades, longFrame(3));
      await expect(rows('SELECT * FROM trades', blind.engine)).rejects.toMatchObject({ code: 'scheduler_failed' });
    } finally {
      await blind.close();
    }
  });
});
