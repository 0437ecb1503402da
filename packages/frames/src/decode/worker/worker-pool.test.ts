import { afterEach, expect, test } from 'vitest';
import { createWorkerPool, type WorkerLink, type WorkerPool } from './worker-pool.ts';

const LONG_MS = 60_000;
const [SHORT, LONG] = [{ isShort: true }, { isShort: false }];

let pool: WorkerPool;
function use(shortWaitMs: number): void {
  pool = createWorkerPool({
    maxWorkers: 4,
    maxBytes: Infinity,
    waitTimeoutMs: LONG_MS,
    stallTimeoutMs: LONG_MS,
    shortWaitMs,
  });
}
afterEach(() => pool.close());

async function acquire(count: number): Promise<WorkerLink[]> {
  return Promise.all(Array.from({ length: count }, () => pool.acquire(undefined, SHORT)));
}

test('short bodies share two workers', async () => {
  use(LONG_MS);
  const [first, second] = await acquire(2);
  const third = pool.acquire(undefined, SHORT);
  const fourth = pool.acquire(undefined, SHORT);
  await new Promise(setImmediate);
  if (first && second) [second, first].forEach((link) => pool.release(link));
  expect([await third, await fourth]).toEqual([second, first]);
});

test('a long body gets its own worker while short ones wait', async () => {
  use(LONG_MS);
  const [first, second] = await acquire(2);
  const waiting = pool.acquire(undefined, SHORT);
  const long = await pool.acquire(undefined, LONG);
  expect([first, second]).not.toContain(long);
  pool.release(long);
  expect(await waiting).toBe(long);
});

test('if no worker gets free, others are started for short bodies, one at a time', async () => {
  use(1);
  const links = await acquire(4);
  expect(new Set(links).size).toBe(4);
});
