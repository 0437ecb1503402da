import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ServerProcess } from '../../apps/server/test/server-process.ts';
import { clusterContract } from './cluster-contract.ts';
import { startCuttingProxy } from './cutting-proxy.ts';
import { fail, run, send, startWith } from './exec.ts';
import { programsOf } from './programs.ts';
import { startSpark } from './start-spark.js';

/** A part of the long frame. */
const PART_ROWS = 1_562_500;
const PARTS = 64;
/** Keeps both workers busy for hours. */
const ENDLESS_SQL = 'select sum(hash(a.id, b.id)) as h from long a cross join numbers b';

let spark: Awaited<ReturnType<typeof startSpark>>;
let server: ServerProcess;
let endServer = async (): Promise<void> => undefined;

beforeAll(async () => {
  spark = await startSpark(programsOf('spark'));
  server = await startWith(spark.port, { onEnd: (end) => void (endServer = end) });
  await server.put(
    'numbers',
    Array.from({ length: 20_000 }, (_, id) => ({ id })),
  );
  await putLong(server, PARTS);
});
afterAll(async () => {
  await endServer();
  await spark?.stop();
});

/** Puts a frame with this number of parts. */
async function putLong({ url }: ServerProcess, parts: number): Promise<void> {
  const part = tableToIPC(tableFromArrays({ id: Int32Array.from({ length: PART_ROWS }, (_, i) => i) }), 'stream');
  for (let i = 0; i < parts; i++) {
    const headers = { 'content-type': 'application/vnd.apache.arrow.stream' };
    const appended = await fetch(`${url}/frames/long`, { method: 'POST', body: part, headers });
    expect(appended.ok, `Part ${i}: ${await appended.text()}`).toBe(true);
  }
}

/** Waits until both executors run a task. */
async function untilBusy(): Promise<void> {
  const busy = async (): Promise<number> =>
    (await spark.executors()).filter(({ activeTasks }: { activeTasks: number }) => activeTasks > 0).length;
  await expect.poll(busy, { timeout: 100_000 }).toBe(2);
}

/** The CPU time of the executors, in ticks of 10 ms. */
function executorTicks(): number {
  return spark.executorPids().reduce((sum: number, pid: number) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return sum + Number(fields[11]) + Number(fields[12]);
  }, 0);
}

async function ticksWithin(ms: number): Promise<number> {
  const before = executorTicks();
  await delay(ms);
  return executorTicks() - before;
}

clusterContract({ server: () => server, hasTime: false, isLeftOut: () => false, namesErrors: true });

test('10^8 rows in 64 parts are read by both workers', async () => {
  const sql = 'select count(*) as n, sum(id) as total, max(id) as top from long';
  const { dataset } = await run(server, 'scheduler', sql);
  const total = (BigInt(PART_ROWS) * BigInt(PART_ROWS - 1)) / 2n;
  expect(dataset).toEqual([[String(PART_ROWS * PARTS), String(total * BigInt(PARTS)), PART_ROWS - 1]]);
  const tasks = (await spark.executors()).map(({ completedTasks }: { completedTasks: number }) => completedTasks);
  expect(tasks).toHaveLength(2);
  expect(Math.min(...tasks)).toBeGreaterThan(10);
});

describe('a statement that is stopped leaves the executors idle', () => {
  async function expectIdle(): Promise<void> {
    // A garbage collection, or a heartbeat, but no task.
    await expect.poll(() => ticksWithin(1000)).toBeLessThan(20);
  }

  test('by a client that disconnects', async () => {
    const controller = new AbortController();
    const answer = send(server, 'scheduler', ENDLESS_SQL, { signal: controller.signal }).catch(() => 'disconnected');
    await untilBusy();
    controller.abort();
    expect(await answer).toBe('disconnected');
    await expectIdle();
  });

  test('by the deadline', async () => {
    const hurried = await startWith(spark.port, { toml: 'timeout_ms = 30000\n' });
    await hurried.put(
      'numbers',
      Array.from({ length: 20_000 }, (_, id) => ({ id })),
    );
    await putLong(hurried, 4);
    const answer = send(hurried, 'scheduler', ENDLESS_SQL);
    await untilBusy();
    expect((await answer).status).toBe(504);
    await expectIdle();
  });
});

test('a connection that is cut three times loses no row and doubles none', async () => {
  const proxy = await startCuttingProxy(spark.port, { bytes: 1e6, cuts: 3 });
  const cut = await startWith(proxy.port);
  await cut.put(
    'numbers',
    Array.from({ length: 1000 }, (_, i) => ({ i })),
  );
  const sql = 'select a.i * 1000 + b.i as n from numbers a cross join numbers b';
  const response = await send(cut, 'scheduler', sql);
  const { dataset }: { dataset: readonly [string | number][] } = JSON.parse(await response.text());
  expect(proxy.cuts()).toBe(3);
  expect(dataset).toHaveLength(1_000_000);
  expect(new Set(dataset.map(([n]) => Number(n))).size).toBe(1_000_000);
});

test('an executor that is killed in the middle of a statement does not change the answer', async () => {
  const sql = 'select count(*) as n, sum(hash(id, id + 1)) as h from long';
  const undisturbed = await run(server, 'scheduler', sql);
  const answer = run(server, 'scheduler', sql);
  await untilBusy();
  const [pid] = spark.executorPids();
  process.kill(pid, 'SIGKILL');
  expect((await answer).dataset).toEqual(undisturbed.dataset);
});

test('a Connect server that dies in the middle of a statement is 502 within 10 s', async () => {
  const answer = fail(server, ENDLESS_SQL);
  await untilBusy();
  const since = performance.now();
  await spark.killConnect();
  const { status, body } = await answer;
  expect(performance.now() - since).toBeLessThan(10_000);
  expect(body).toMatchObject({ code: 'scheduler_failed' });
  expect(status).toBe(502);
  expect(await fail(server, 'select count(*) as n from numbers')).toMatchObject({ status: 502 });
});
