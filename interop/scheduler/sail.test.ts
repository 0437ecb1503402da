import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { ServerProcess } from '../../apps/server/test/server-process.ts';
import { clusterContract } from './cluster-contract.ts';
import { startCuttingProxy } from './cutting-proxy.ts';
import { fail, run, send, startWith } from './exec.ts';
import { programsOf } from './programs.ts';
import { startSail } from './start-sail.js';

let sail: Awaited<ReturnType<typeof startSail>>;
let server: ServerProcess;
let endServer = async (): Promise<void> => undefined;

beforeAll(async () => {
  sail = await startSail(programsOf('sail'));
  server = await startWith(sail.port, { onEnd: (end) => void (endServer = end) });
});
afterAll(async () => {
  await endServer();
  await sail?.stop();
});

clusterContract({
  server: () => server,
  hasTime: true,
  // Sail cannot read timestamps in nanoseconds.
  isLeftOut: (sample) => sample === 'timestamp ns',
  namesErrors: false,
});

test('a frame whose files the cluster does not see is 502, not an empty answer', async () => {
  const elsewhere = mkdtempSync(join(tmpdir(), 'svc-elsewhere-'));
  onTestFinished(() => rmSync(elsewhere, { recursive: true }));
  const lost = await startWith(sail.port, { toml: `frames_url = "file://${elsewhere}"\n` });
  await lost.put('some', [{ a: 1 }, { a: 2 }]);
  const { status, body } = await fail(lost, 'select a from some');
  expect(body).toMatchObject({ code: 'scheduler_failed' });
  expect(status).toBe(502);
});

test('a connection that is cut three times loses no row and doubles none', async () => {
  const proxy = await startCuttingProxy(sail.port, { bytes: 1e5, cuts: 3 });
  const cut = await startWith(proxy.port);
  await cut.put(
    'numbers',
    Array.from({ length: 1000 }, (_, i) => ({ i })),
  );
  const sql = 'select a.i * 1000 + b.i as n from numbers a cross join numbers b where a.i < 300';
  const response = await send(cut, 'scheduler', sql);
  const { dataset }: { dataset: readonly [string | number][] } = JSON.parse(await response.text());
  expect(proxy.cuts()).toBe(3);
  expect(dataset).toHaveLength(300_000);
  expect(new Set(dataset.map(([n]) => Number(n))).size).toBe(300_000);
});

test('a cluster that is not there any more is 502 within 10 s', async () => {
  const own = await startSail(programsOf('sail'));
  onTestFinished(own.stop);
  const orphan = await startWith(own.port);
  await orphan.put('some', [{ a: 1 }]);
  expect((await run(orphan, 'scheduler', 'select a from some')).dataset).toEqual([['1']]);
  await own.kill();
  const since = performance.now();
  const { status, body } = await fail(orphan, 'select a from some');
  expect(performance.now() - since).toBeLessThan(10_000);
  expect(body).toMatchObject({ code: 'scheduler_failed' });
  expect(status).toBe(502);
});
