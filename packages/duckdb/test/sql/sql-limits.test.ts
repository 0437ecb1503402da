import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '@svc/errors';
import type { Engine, QueryResult } from '@svc/frames';
import { readRows } from '@svc/frames/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { identifyProcess, type ProcessIdentity } from '../../src/disk/process-identity.ts';
import { callOf, createSqlFixture, rowsOf, type SqlFixture } from '../../src/testing/sql-fixture.ts';
import { cpuSeconds, sqlChildPids } from '../../src/testing/sql-processes.ts';
import { countedBytes } from '../../src/sql/counted-bytes.ts';
import type { SqlEngineOptions } from '../../src/sql/create-sql-engine.ts';

let fixture: SqlFixture;

beforeAll(async () => {
  fixture = await createSqlFixture();
});

afterAll(() => fixture.close());

/** Runs a test with an engine of its own. */
function withEngine(options: Partial<SqlEngineOptions>, run: (engine: Engine) => Promise<void>): () => Promise<void> {
  return async () => {
    const engine = fixture.otherEngine({ maxConcurrent: 1, ...options });
    try {
      // On a busy machine a child may take longer to start than a statement may in some tests.
      await vi.waitFor(() => rowsOf(engine, 'SELECT 1'), { timeout: 15_000 });
      await run(engine);
    } finally {
      await engine.close();
    }
  };
}

/** An answer that is not read holds its place. */
const holdPlace = (engine: Engine): Promise<QueryResult> => engine.query(callOf(), 'FROM range(10000000)');
const ENDLESS = 'SELECT count(*) FROM range(1000000000000)';
// One call of a function, which does not hear that it should stop.
const DEAF = "SELECT levenshtein(repeat('a', 200000), repeat('b', 200000))";
// One after the other in one child, they leave less and less room in it.
const GREEDY = [
  'SELECT list(i) FROM range(1000000000) t(i)',
  "SELECT string_agg(i::VARCHAR, ',') FROM range(10000000000) t(i)",
  'SELECT array_agg(i ORDER BY hash(i)) FROM range(1000000000) t(i)',
  'SELECT histogram(i) FROM range(1000000000) t(i)',
  'SELECT quantile_cont(i, 0.5) OVER (ORDER BY i) FROM range(1000000000) t(i)',
];
const hasProc = existsSync('/proc');

/** The files of batches that this process has open. */
function openBatchFiles(): string[] {
  const names = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      // The one that lists them is closed by now.
      return '';
    }
  });
  return names.filter((name) => name.includes('svc-batches-'));
}

describe('waiting', () => {
  test(
    'statements take turns in their order, and no more than may wait',
    withEngine({ maxQueued: 2 }, async (engine) => {
      const held = await holdPlace(engine);
      const done: number[] = [];
      const ask = async (i: number): Promise<void> => {
        expect(await rowsOf(engine, `SELECT ${i}`)).toEqual([[i]]);
        done.push(i);
      };
      const waiting = [ask(1), ask(2)];
      await expect(rowsOf(engine, 'SELECT 3')).rejects.toMatchObject({ code: 'too_many_requests' });
      expect(done).toEqual([]);
      held.close();
      await Promise.all(waiting);
      expect(done).toEqual([1, 2]);
    }),
  );

  test(
    'an answer that is short holds no place, read or not',
    withEngine({}, async (engine) => {
      const unread = await engine.query(callOf(), 'FROM range(3)');
      expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
      expect(await readRows(unread)).toEqual([[0n], [1n], [2n]]);
      unread.close();
    }),
  );

  test(
    'a short statement does not wait for long ones, which are begun again and have the same answer',
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
    'counts, and whoever waited too long is gone',
    withEngine({ maxQueued: 1, timeoutMs: 2000 }, async (engine) => {
      const held = await holdPlace(engine);
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
    'a statement that gives no rows in time is deadline_exceeded, and its place is free',
    withEngine({ timeoutMs: 3000 }, async (engine) => {
      await expect(rowsOf(engine, ENDLESS)).rejects.toMatchObject({ code: 'deadline_exceeded' });
      expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
    }),
  );

  test(
    'one that gives rows and then no more is ended too',
    withEngine({ timeoutMs: 4000 }, async (engine) => {
      const slow = `levenshtein(repeat('a', 30000 + (i % 2)::INTEGER), repeat('b', 30000))`;
      const answer = await engine.query(
        callOf(),
        `SELECT CASE WHEN i < 300000 THEN 0 ELSE ${slow} END FROM range(900000) t(i)`,
      );
      const read = async (): Promise<void> => {
        for await (const batch of answer.batches) expect(batch.numRows).toBeGreaterThan(0);
      };
      await expect(read()).rejects.toMatchObject({ code: 'deadline_exceeded' });
      expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
    }),
  );

  test(
    'a reader may take its time',
    withEngine({ timeoutMs: 2500 }, async (engine) => {
      const answer = await engine.query(callOf(), 'FROM range(1000000)');
      let rows = 0;
      for await (const batch of answer.batches) {
        // One that begins now and has as much time is over before it: so much time has passed.
        if (rows === 0) await expect(rowsOf(engine, ENDLESS)).rejects.toMatchObject({ code: 'deadline_exceeded' });
        rows += batch.numRows;
      }
      expect(rows).toBe(1_000_000);
    }),
  );
});

describe('a call that is cancelled', () => {
  test(
    'ends its statement, and its child goes on',
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
    'ends a child that does not obey, and another takes its place',
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

  test(
    'ends an answer that is being read',
    withEngine({}, async (engine) => {
      const controller = new AbortController();
      const answer = await engine.query(callOf('default', controller.signal), 'FROM range(1000000000)');
      const read = async (): Promise<void> => {
        for await (const batch of answer.batches) if (batch.numRows > 0) controller.abort(new Error('gone'));
      };
      await expect(read()).rejects.toMatchObject({ code: 'cancelled' });
      expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
    }),
  );
});

describe('memory and disk', () => {
  test(
    'a statement that takes too much memory is out_of_memory',
    withEngine({ memoryBytes: 100e6 }, async (engine) => {
      for (const sql of [
        "SELECT repeat('x', 2000000000)",
        'SELECT list(i) FROM range(100000000) t(i)',
        'SELECT reservoir_quantile(i, 0.5, 2000000000) FROM range(9) t(i)',
      ]) {
        await expect(rowsOf(engine, sql)).rejects.toMatchObject({ code: 'out_of_memory', query: sql });
      }
      expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
    }),
  );

  test(
    'one that takes too much room on disk is out_of_disk, and leaves nothing there',
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
    'begin with little of the memory that they may take, whatever Node reserves for itself',
    withEngine({}, async () => {
      expect(sqlChildPids()).not.toEqual([]);
      for (const pid of sqlChildPids()) expect(countedBytes(pid)).toBeLessThan(250e6);
    }),
  );

  test.skipIf(!hasProc)(
    'one that has kept so much of its memory that a statement would not find enough is replaced',
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
    'one that is killed is one failed statement',
    withEngine({}, async (engine) => {
      const running = rowsOf(engine, ENDLESS);
      const failed = expect(running).rejects.toMatchObject({ code: 'internal', query: ENDLESS });
      await untilBusy();
      for (const pid of sqlChildPids()) process.kill(pid, 'SIGKILL');
      await failed;
      // One that had nothing to do was killed too, which may not be known yet.
      await expect.poll(() => rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
    }),
  );

  test.skipIf(!hasProc)(
    'those with nothing to do end after a while, but for one',
    withEngine({ maxConcurrent: 3, idleMs: 200 }, async (engine) => {
      const others = sqlChildPids().length - 1;
      await Promise.all([1, 2, 3].map((i) => rowsOf(engine, `SELECT ${i}`)));
      await expect.poll(() => sqlChildPids().length - others).toBe(1);
      expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
    }),
  );

  test.skipIf(!hasProc)('an answer that is closed unread leaves nothing of it open', async () => {
    // Now the other engine has its children, too.
    await fixture.rows('SELECT 1');
    const others = openBatchFiles();
    const engine = fixture.otherEngine({ maxConcurrent: 1 });
    const unread = await engine.query(callOf(), 'SELECT range AS id FROM range(200000)');
    // It has its turn when all rows of the other have come.
    expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
    const own = openBatchFiles().filter((name) => !others.includes(name));
    unread.close();
    await engine.close();
    await expect(readRows(unread)).rejects.toMatchObject({ code: 'cancelled' });
    expect(own).not.toEqual([]);
    expect(openBatchFiles().filter((name) => own.includes(name))).toEqual([]);
  });

  test('close ends what runs, and nothing is left', async () => {
    const others = await foldersOfChildren();
    const engine = fixture.otherEngine({ maxConcurrent: 1 });
    const running = rowsOf(engine, ENDLESS).catch((error: unknown) => error);
    const waiting = rowsOf(engine, 'SELECT 1').catch((error: unknown) => error);
    await expect.poll(async () => (await foldersOfChildren()).length).toBeGreaterThan(others.length);
    await engine.close();
    expect(others).toEqual(expect.arrayContaining(await foldersOfChildren()));
    if (hasProc) expect(sqlChildPids().length).toBeLessThanOrEqual(others.length);
    expect(await running).toMatchObject({ code: 'unavailable' });
    expect(await waiting).toMatchObject({ code: 'unavailable' });
  });

  test('folders of processes that are no more are removed, and no others', async () => {
    const self = await identifyProcess();
    const old = new Date(0);
    // No process has a number as great as this.
    const dead = await leaveFolder('dead', { ...self, pid: 99_999_999 });
    const reused = await leaveFolder('reused', { ...self, started: '1' });
    const silent = await leaveFolder('silent', { ...self, scope: 'elsewhere' }, old);
    const unheld = await leaveFolder('unheld', undefined, old);
    const left = [
      await leaveFolder('own', self, old),
      await leaveFolder('another-machine', { ...self, pid: 99_999_999, scope: 'elsewhere' }),
      await leaveFolder('young'),
    ];
    await withEngine({}, async () => {
      const swept = new Set([dead, reused, silent, unheld]);
      const names = (): Promise<string[]> => readdir(fixture.tempDirectory);
      await expect.poll(async () => (await names()).filter((name) => swept.has(name))).toEqual([]);
      expect(await readdir(fixture.tempDirectory)).toEqual(expect.arrayContaining(left));
    })();
    for (const name of left) await rm(join(fixture.tempDirectory, name), { recursive: true });
  });

  test('says of the folder of each child whose it is', async () => {
    await withEngine({}, async () => {
      const names = await foldersOfChildren();
      expect(names).not.toEqual([]);
      for (const name of names) {
        const files = (): Promise<string[]> => readdir(join(fixture.tempDirectory, name));
        await expect.poll(files).toContainEqual(expect.stringMatching(/^\.lock-\w+$/));
      }
    })();
  });
});

async function foldersOfChildren(): Promise<string[]> {
  return (await readdir(fixture.tempDirectory)).filter((name) => name.startsWith('svc-sql-'));
}

/** What is in the folders of children, but for the file that says whose they are. */
async function filesOfChildren(): Promise<string[]> {
  const folders = await foldersOfChildren();
  const names = await Promise.all(folders.map((folder) => readdir(join(fixture.tempDirectory, folder))));
  return names.flat().filter((name) => !/^(?:\.new)?\.lock-/.test(name));
}

/** Waits until a child works, where that can be seen: to start takes them less. */
async function untilBusy(): Promise<void> {
  if (!hasProc) return;
  const before = new Map(sqlChildPids().map((pid) => [pid, cpuSeconds(pid)]));
  const used = (): number[] => sqlChildPids().map((pid) => cpuSeconds(pid) - (before.get(pid) ?? 0));
  await expect.poll(() => Math.max(...used()), { timeout: 40_000 }).toBeGreaterThan(1);
}

/** Makes a folder as children have it, of a process with this identity. */
async function leaveFolder(name: string, holder?: ProcessIdentity, touched = new Date()): Promise<string> {
  const folder = `svc-sql-${process.pid}-${name}`;
  const path = join(fixture.tempDirectory, folder);
  const lock = join(path, '.lock-test');
  await mkdir(path);
  if (holder !== undefined) {
    await writeFile(lock, JSON.stringify(holder));
    await utimes(lock, touched, touched);
  }
  await utimes(path, touched, touched);
  return folder;
}
