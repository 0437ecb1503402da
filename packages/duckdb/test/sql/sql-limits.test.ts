import { readdirSync, readlinkSync } from 'node:fs';
import { mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readRows } from '@svc/frames/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { identifyProcess, type ProcessIdentity } from '../../src/disk/directory-lock.ts';
import { callOf, createSqlFixture, rowsOf, type SqlFixture } from '../../src/testing/sql-fixture.ts';
import { sqlChildPids } from '../../src/testing/sql-processes.ts';
import { countedBytes } from '../../src/sql/children.ts';
import { ENDLESS, foldersOfChildren, hasProc, holdSlot, ownEngine } from '../own-engine.ts';

let fixture: SqlFixture;
const withEngine = ownEngine(() => fixture);

beforeAll(async () => {
  fixture = await createSqlFixture();
});

afterAll(() => fixture.close());

/** The batch files that this process has open. */
function openBatchFiles(): string[] {
  const names = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      // The descriptor of the directory listing is closed by now.
      return '';
    }
  });
  return names.filter((name) => name.includes('svc-batches-'));
}

describe('waiting', () => {
  test(
    'statements run in order, and those beyond maxQueued are refused',
    withEngine({ maxQueued: 2 }, async (engine) => {
      const held = await holdSlot(engine);
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
    'a short result holds no slot, read or not',
    withEngine({}, async (engine) => {
      const unread = await engine.query(callOf(), 'FROM range(3)');
      expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
      expect(await readRows(unread)).toEqual([[0n], [1n], [2n]]);
      unread.close();
    }),
  );
});

describe('time', () => {
  test(
    'a statement that returns no rows in time is deadline_exceeded, and its slot is free',
    { tags: ['slow'] },
    withEngine({ timeoutMs: 3000 }, async (engine) => {
      await expect(rowsOf(engine, ENDLESS)).rejects.toMatchObject({ code: 'deadline_exceeded' });
      expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
    }),
  );
});

describe('a call that is cancelled', () => {
  test(
    'ends a result that is being read',
    withEngine({}, async (engine) => {
      const controller = new AbortController();
      const result = await engine.query(callOf('default', controller.signal), 'FROM range(1000000000)');
      const read = async (): Promise<void> => {
        for await (const batch of result.batches) if (batch.numRows > 0) controller.abort(new Error('gone'));
      };
      await expect(read()).rejects.toMatchObject({ code: 'cancelled' });
      expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
    }),
  );
});

describe('memory and disk', () => {
  test(
    'a statement that needs too much memory is out_of_memory',
    { tags: ['slow'] },
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
});

describe('children', () => {
  test.skipIf(!hasProc)(
    'start with little of their memory limit used, regardless of what Node reserves',
    withEngine({}, async () => {
      expect(sqlChildPids()).not.toEqual([]);
      for (const pid of sqlChildPids()) expect(countedBytes(pid)).toBeLessThan(250e6);
    }),
  );

  test.skipIf(!hasProc)(
    'exit after a while when idle, except for one',
    { tags: ['slow'] },
    withEngine({ maxConcurrent: 3, idleMs: 200 }, async (engine) => {
      const others = sqlChildPids().length - 1;
      await Promise.all([1, 2, 3].map((i) => rowsOf(engine, `SELECT ${i}`)));
      await expect.poll(() => sqlChildPids().length - others).toBe(1);
      expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
    }),
  );

  test.skipIf(!hasProc)('leave no file open after a result is closed unread', { tags: ['slow'] }, async () => {
    // Makes the other engine start its children first.
    await fixture.rows('SELECT 1');
    const others = openBatchFiles();
    const engine = fixture.otherEngine({ maxConcurrent: 1 });
    const unread = await engine.query(callOf(), 'SELECT range AS id FROM range(200000)');
    // It gets the slot when all rows of the other have arrived.
    expect(await rowsOf(engine, 'SELECT 1')).toEqual([[1]]);
    const own = openBatchFiles().filter((name) => !others.includes(name));
    unread.close();
    await engine.close();
    await expect(readRows(unread)).rejects.toMatchObject({ code: 'cancelled' });
    expect(own).not.toEqual([]);
    expect(openBatchFiles().filter((name) => own.includes(name))).toEqual([]);
  });

  test('end when the engine is closed, and leave nothing behind', async () => {
    const others = await foldersOfChildren(fixture);
    const engine = fixture.otherEngine({ maxConcurrent: 1 });
    const running = rowsOf(engine, ENDLESS).catch((error: unknown) => error);
    const waiting = rowsOf(engine, 'SELECT 1').catch((error: unknown) => error);
    await expect.poll(async () => (await foldersOfChildren(fixture)).length).toBeGreaterThan(others.length);
    await engine.close();
    expect(others).toEqual(expect.arrayContaining(await foldersOfChildren(fixture)));
    if (hasProc) expect(sqlChildPids().length).toBeLessThanOrEqual(others.length);
    expect(await running).toMatchObject({ code: 'unavailable' });
    expect(await waiting).toMatchObject({ code: 'unavailable' });
  });

  test('have their directories removed if their parent is gone, and only then', { tags: ['slow'] }, async () => {
    const self = await identifyProcess();
    const old = new Date(0);
    // No process has a pid this high.
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

  test('have a lock file in their directories', { tags: ['slow'] }, async () => {
    await withEngine({}, async () => {
      const names = await foldersOfChildren(fixture);
      expect(names).not.toEqual([]);
      for (const name of names) {
        const files = (): Promise<string[]> => readdir(join(fixture.tempDirectory, name));
        await expect.poll(files).toContainEqual(expect.stringMatching(/^\.lock-\w+$/));
      }
    })();
  });
});

/** Creates the directory of a child whose parent has this identity. */
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
