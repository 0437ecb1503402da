import { FrameServiceDefinition } from '@svc/proto';
import { createChannel, createClient, Metadata } from 'nice-grpc';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, callersFileOf, createCaller } from './callers.ts';
import { startProcess, testFile } from './server-process.ts';

const SAMPLES = 100;
const MAX_DIFFERENCE_MS = 1;
/** A difference that the server makes is there in each round; one that other programs make is not. */
const MAX_ROUNDS = 12;

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** How much longer the median request for one handle takes than that for the other. */
async function differenceMs(send: (handle: string) => Promise<unknown>): Promise<number> {
  const times: Record<string, number[]> = { secret: [], absent: [] };
  for (let i = 0; i < SAMPLES; i++) {
    for (const handle of i % 2 === 0 ? ['secret', 'absent'] : ['absent', 'secret']) {
      const startMs = performance.now();
      await send(handle);
      times[handle]?.push(performance.now() - startMs);
    }
  }
  return Math.abs(median(times['secret'] ?? []) - median(times['absent'] ?? []));
}

test("another tenant's handle takes as long as an unknown one, within 1 ms", async () => {
  const alpha = createCaller('alpha', ['read', 'write']);
  const beta = createCaller('beta', ['read', 'write']);
  const file = testFile('callers.toml', callersFileOf({ alpha, beta }));
  const server = await startProcess({ args: ['--log-level', 'error'], env: { SERVICE_AUTH_CALLERS_FILE: file } });
  const rows = Array.from({ length: 10_000 }, (_, id) => ({ id, text: 'x'.repeat(50) }));
  expect((await server.put('secret', rows, { headers: { authorization: bearer(alpha.token) } })).status).toBe(201);
  // A hot frame: its rows and its responses are in memory.
  for (let i = 0; i < 3; i++) {
    const headers = { authorization: bearer(alpha.token) };
    await (await server.fetch('/exec?handle=secret&fmt=json&limit=10', { headers })).text();
  }

  const channel = createChannel(server.grpcAddress);
  onTestFinished(() => channel.close());
  const frames = createClient(FrameServiceDefinition, channel);
  const metadata = Metadata({ authorization: bearer(beta.token) });
  const ask = (path: string, init: RequestInit = {}) =>
    server.fetch(path, { ...init, headers: { authorization: bearer(beta.token) } }).then((response) => response.text());
  const sql = (handle: string) => ask(`/exec?fmt=json&engine=local&query=select * from ${handle}`);
  const ways: Readonly<Record<string, (handle: string) => Promise<unknown>>> = {
    exec: (handle) => ask(`/exec?handle=${handle}&fmt=json&limit=10`),
    files: (handle) => ask(`/files/${handle}.parquet`),
    describe: (handle) => ask(`/frames/${handle}`),
    drop: (handle) => ask(`/frames/${handle}`, { method: 'DELETE' }),
    sql,
    DescribeFrame: (handle) => frames.describeFrame({ handle }, { metadata }).catch(() => undefined),
  };
  const differences: Record<string, number> = {};
  for (const [name, send] of Object.entries(ways)) {
    let leastMs = Infinity;
    for (let i = 0; i < MAX_ROUNDS && leastMs > MAX_DIFFERENCE_MS; i++) {
      leastMs = Math.min(leastMs, await differenceMs(send));
    }
    if (leastMs > MAX_DIFFERENCE_MS) differences[name] = leastMs;
  }
  expect(differences).toEqual({});
});
