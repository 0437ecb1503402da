import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '@svc/errors';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callOf, createSqlFixture, rowsOf, type SqlFixture } from '../../src/testing/sql-fixture.ts';
import { cpuSeconds, sqlChildPids } from '../../src/testing/sql-processes.ts';
import { countedBytes } from '../../src/sql/children.ts';
import { ENDLESS, foldersOfChildren, hasProc, holdSlot, ownEngine } from '../own-engine.ts';

let fixture: SqlFixture;
const withEngine = ownEngine(() => fixture);

beforeAll(async () => {
  fixture = await createSqlFixture();
});

afterAll(() => fixture.close());

// A single function call, which ignores interrupts.
const DEAF = "SELECT levenshtein(repeat('a', 200000), repeat('b', 200000))";
// In sequence in one child, they leave less and less memory.
const GREEDY = [
  'SELECT list(i) FROM range(1000000000) t(i)',
  "SELECT string_agg(i::VARCHAR, ',') FROM range(10000000000) t(i)",
  'SELECT array_agg(i ORDER BY hash(i)) FROM range(1000000000) t(i)',
  'SELECT histogram(i) FROM range(1000000000) t(i)',
  'SELECT quantile_cont(i, 0.5) OVER (ORDER BY i) FROM range(1000000000) t(i)',
];

describe('waiting', () => {
  test(
    'a short statement does not wait for long ones, which restart and return the same result',
    withEngine({ maxConcurrent: 2, timeoutMs: 20_000, shortMs: 50 }, async (engine) => {
      const controller = new AbortController();
      const endless = rowsOf(engine, ENDLESS, {}, callOf('default', controller.signal)).catch(
        (error: unknown) => error,
      );
      const long = rowsOf(engine, 'SELECT count(*) FROM range(70000000) t(i) WHERE i % 7 = 3');
      for (let i = 0; i < 3; i++) expect(await rowsOf(engine, `SELECT ${i}`)).toEqual([[i]]);
      controller.abort();
      expect(await endless).toMatchObject({ code: 'cancelled' });
      expect(await long).toEqual([[10_000_000n]]);
    }),
  );

  test(
    'counts towards the timeout, and a statement that waited too long leaves the queue',
    withEngine({ maxQueued: 1, timeoutMs: 2000 }, async (engine) => {
      const held = await holdSlot(engine);
      const late = rowsOf(engine, 'SELECT 1');
      await expect(late).rejects.toMatchObject({
        code: 'deadline_exceeded',
        hint: expect.stringContaining('sql.timeout_ms'),
      });
      const controller = new AbortController();
      const gone = rowsOf(engine, 'SELECT 2', {}, callOf('default', controller.signal));
      controller.abort(new Error('gone'));
      await expect(gone).rejects.toMatchObject({ code: 'cancelled' });
      const next = rowsOf(engine, 'SELECT 3');
      held.close();
      expect(await next).toEqual([[3]]);
    }),
  );
});

describe('time', () => {
  test(
    'a statement whose deadline passes before it has obeyed an interruption reports the deadline',
    withEngine({ maxConcurrent: 2, timeoutMs: 700, shortMs: 50 }, async (engine) => {
      // The third one has one of the others interrupted at once. That ignores it for a second, until its child is killed.
      const failures = await Promise.all([1, 2, 3].map(() => rowsOf(engine, DEAF).catch((error: unknown) => error)));
      for (const failure of failures) expect(failure).toMatchObject({ code: 'deadline_exceeded', query: DEAF });
    }),
  );

  test(
    'a statement that returns rows and then stalls is ended, too',
    withEngine({ timeoutMs: 4000 }, async (engine) => {
      const slow = `levenshtein(repeat('a', 30000 + (i % 2)::INTEGER), repeat('b', 30000))`;
      const result = await engine.query(
        callOf(),
        `SELECT CASE WHEN i < 300000 THEN 0 ELSE ${slow} END FROM range(900000) t(i)`,
      );
      const read = async (): Promise<void> => {
        for await (const batch of result.batches) expect(batch.numRows).toBeGreaterThan(0);
      };
      await expect(read()).rejects.toMatchObject({ code: 'deadline_exceeded' });
      expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
    }),
  );

  test(
    'a reader may take its time',
    withEngine({ timeoutMs: 2500 }, async (engine) => {
      const result = await engine.query(callOf(), 'FROM range(1000000)');
      let rows = 0;
      for await (const batch of result.batches) {
        // A statement with the same timeout starts now and ends first, which proves that the timeout has passed.
        if (rows === 0) await expect(rowsOf(engine, ENDLESS)).rejects.toMatchObject({ code: 'deadline_exceeded' });
        rows += batch.numRows;
      }
      expect(rows).toBe(1_000_000);
    }),
  );
});

describe('a call that is cancelled', () => {
  test(
    'ends its statement, and its child keeps running',
    withEngine({}, async (engine) => {
      const pids = hasProc ? sqlChildPids() : [];
      const controller = new AbortController();
      const running = rowsOf(engine, ENDLESS, {}, callOf('default', controller.signal));
      const cancelled = expect(running).rejects.toMatchObject({ code: 'cancelled' });
      await untilBusy();
      controller.abort(new Error('gone'));
      await cancelled;
      expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
      if (hasProc) expect(sqlChildPids()).toEqual(expect.arrayContaining(pids));
    }),
  );

  test(
    'kills a child that does not obey, and another replaces it',
    withEngine({}, async (engine) => {
      const controller = new AbortController();
      const running = rowsOf(engine, DEAF, {}, callOf('default', controller.signal));
      const cancelled = expect(running).rejects.toMatchObject({ code: 'cancelled' });
      await untilBusy();
      controller.abort(new Error('gone'));
      await cancelled;
      expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
    }),
  );
});

describe('memory and disk', () => {
  test(
    'a statement that needs too much disk space is out_of_disk, and leaves nothing there',
    withEngine({ memoryBytes: 100e6, maxTempBytes: 10e6 }, async (engine) => {
      const sql = 'SELECT i, hash(i) h FROM range(100000000) t(i) ORDER BY h';
      await expect(rowsOf(engine, sql)).rejects.toMatchObject({ code: 'out_of_disk' });
      expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
      await expect.poll(filesOfChildren).toEqual([]);
    }),
  );
});

describe('children', () => {
  test.skipIf(!hasProc)(
    'are replaced if they have kept too much memory for another statement',
    withEngine({ memoryBytes: 150e6, maxTempBytes: 50e6 }, async (engine) => {
      for (const sql of GREEDY) {
        const call = callOf('default', AbortSignal.timeout(1000));
        await expect(rowsOf(engine, sql, {}, call)).rejects.toBeInstanceOf(ServiceError);
        expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
      }
      await expect.poll(() => sqlChildPids().filter((pid) => countedBytes(pid) > 630e6)).toEqual([]);
    }),
  );

  test.skipIf(!hasProc)(
    'fail only their statement when they are killed',
    withEngine({}, async (engine) => {
      const running = rowsOf(engine, ENDLESS);
      const failed = expect(running).rejects.toMatchObject({ code: 'internal', query: ENDLESS });
      await untilBusy();
      for (const pid of sqlChildPids()) process.kill(pid, 'SIGKILL');
      await failed;
      // The idle child was killed, too, which may not be noticed yet.
      await expect.poll(() => rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
    }),
  );
});

/** The files in the directories of children, without lock files. */
async function filesOfChildren(): Promise<string[]> {
  const folders = await foldersOfChildren(fixture);
  const names = await Promise.all(folders.map((folder) => readdir(join(fixture.tempDirectory, folder))));
  return names.flat().filter((name) => !/^(?:\.new)?\.lock-/.test(name));
}

/** Waits until a child has used more CPU time than a start takes. Needs /proc. */
async function untilBusy(): Promise<void> {
  if (!hasProc) return;
  const before = new Map(sqlChildPids().map((pid) => [pid, cpuSeconds(pid)]));
  const used = (): number[] => sqlChildPids().map((pid) => cpuSeconds(pid) - (before.get(pid) ?? 0));
  await expect.poll(() => Math.max(...used()), { timeout: 40_000 }).toBeGreaterThan(1);
}
