import { gunzipSync } from 'node:zlib';
import { createMemoryStore, type FrameStream, parseHandle } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { createService } from '@svc/service';
import { Table, Utf8, vectorFromArray } from 'apache-arrow';
import fc from 'fast-check';
import type { Hono } from 'hono';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runs } from '../../../../test/tier.ts';
import { createExecApp, createResponseCache, type ExecEnv, type ResponseCache } from '../index.ts';

const REF = { tenant: 'default', handle: parseHandle('t') };

interface Setup {
  readonly store: ReturnType<typeof createMemoryStore>;
  readonly cache: ResponseCache;
  /** Keeps rows. */
  readonly app: Hono<ExecEnv>;
  /** Has no cache. */
  readonly plain: Hono<ExecEnv>;
  readonly opened: string[];
}

async function setup(rows: number, cacheBytes = 1e7): Promise<Setup> {
  const store = createMemoryStore();
  const opened: string[] = [];
  const service = createService({ store, observe: ({ kind }) => kind === 'frame_opened' && opened.push(kind) });
  onTestFinished(() => service.close());
  await store.put(REF, longFrame(rows, { batchRows: 700 }));
  const cache = createResponseCache(cacheBytes);
  const app = createExecApp({ service, answerCache: cache });
  return { store, cache, app, plain: createExecApp({ service, answerCacheBytes: 0 }), opened };
}

const target = (from: number, to: number, more = ''): string => `/exec?handle=t&fmt=json&limit=${from},${to}${more}`;

async function read(app: Hono<ExecEnv>, path: string, headers: Record<string, string> = {}): Promise<object> {
  const response = await app.request(path, { headers });
  const body = Buffer.from(await response.arrayBuffer());
  const text = response.headers.get('content-encoding') === 'gzip' ? gunzipSync(body).toString() : body.toString();
  const names = ['content-type', 'content-encoding', 'etag', 'vary', 'x-total-count'];
  return { status: response.status, text, headers: names.map((name) => response.headers.get(name)) };
}

/** Reads all rows twice, in windows of 700, so that they are kept. */
async function readTwice(app: Hono<ExecEnv>, rows: number, more = ''): Promise<void> {
  for (let round = 0; round < 2; round++) {
    for (let from = 1; from <= rows; from += 700) await read(app, target(from + round, from + 699 + round, more));
  }
}

function textFrame(values: readonly string[]): FrameStream {
  const { schema, batches } = new Table({ text: vectorFromArray(values, new Utf8()) });
  return {
    schema,
    batches: (async function* () {
      yield* batches;
    })(),
  };
}

describe('kept rows', () => {
  test('a window of rows that were read twice is sent without opening the frame', async () => {
    const { app, plain, opened, cache } = await setup(5000);
    await readTwice(app, 5000);
    const before = opened.length;
    const { hits } = cache.reads;
    const window = await read(app, target(123, 1876));
    expect(opened).toHaveLength(before);
    expect(cache.reads.hits).toBe(hits + 1);
    expect(window).toEqual(await read(plain, target(123, 1876)));
  });

  test('every window is what it is without a cache', async () => {
    const { app, plain } = await setup(5000);
    await readTwice(app, 5000);
    const window = fc.record({
      from: fc.integer({ min: 1, max: 5100 }),
      rows: fc.integer({ min: 1, max: 4000 }),
      more: fc.constantFrom('', '&count=true', '&nm=true', '&quoteLargeNum=true', '&cols=id', '&nm=true&count=true'),
      coding: fc.constantFrom('identity', 'gzip'),
    });
    const property = fc.asyncProperty(window, async ({ from, rows, more, coding }) => {
      const path = target(from, from + rows - 1, more);
      const headers = { 'accept-encoding': coding };
      expect(await read(app, path, headers)).toEqual(await read(plain, path, headers));
    });
    await fc.assert(property, { numRuns: runs(1000) });
  });

  test('rows of an older version are not sent', async () => {
    const { app, plain, store } = await setup(2000);
    await readTwice(app, 2000);
    await store.put(REF, longFrame(1000, { batchRows: 700 }));
    expect(await read(app, target(500, 1500))).toEqual(await read(plain, target(500, 1500)));
    await app.request('/frames/t', { method: 'DELETE' });
    expect(await read(app, target(500, 1500))).toMatchObject({ status: 404 });
  });

  test('a client that has the version gets 304, and HEAD no body', async () => {
    const { app } = await setup(2000);
    await readTwice(app, 2000);
    const first = await app.request(target(1, 900), { method: 'HEAD' });
    expect([first.status, await first.text()]).toEqual([200, '']);
    const headers = { 'if-none-match': first.headers.get('etag') ?? '' };
    expect((await app.request(target(2, 900), { headers })).status).toBe(304);
  });

  test('they are bounded with the responses', async () => {
    const { app, cache, plain } = await setup(20_000, 200_000);
    for (let round = 0; round < 3; round++) await readTwice(app, 20_000);
    expect(cache.bytes).toBeGreaterThan(100_000);
    expect(cache.bytes).toBeLessThanOrEqual(200_000);
    expect(await read(app, target(1, 1000))).toEqual(await read(plain, target(1, 1000)));
  });

  test('windows that are made of kept rows do not evict them, unless they are requested many times', async () => {
    const { app, cache } = await setup(20_000, 400_000);
    for (let round = 0; round < 2; round++) await readTwice(app, 20_000);
    const full = cache.bytes;
    for (let round = 0; round < 4; round++) await readTwice(app, 20_000);
    expect(cache.bytes).toBe(full);
    for (let i = 0; i < 30; i++) await read(app, target(1, 1000));
    expect(cache.bytes).toBeGreaterThan(full);
  });

  test('windows that are read once evict no response', async () => {
    const { app, cache, opened } = await setup(20_000, 200_000);
    for (let i = 0; i < 3; i++) await read(app, target(7, 12));
    for (let from = 1000; from < 20_000; from += 1000) await read(app, target(from, from + 500));
    const before = opened.length;
    await read(app, target(7, 12));
    expect(opened).toHaveLength(before);
    expect(cache.bytes).toBeLessThan(100_000);
  });

  test('rows too long for a block are read from the frame', async () => {
    const { app, plain, store, opened } = await setup(1);
    await store.put(REF, textFrame(Array.from({ length: 600 }, (_, i) => `${i}`.padEnd(2000, 'x'))));
    for (let i = 1; i <= 5; i++) {
      expect(await read(app, target(i, i + 9))).toEqual(await read(plain, target(i, i + 9)));
    }
    // Each window once for each app, and once for the block that was found to be too long.
    expect(opened).toHaveLength(11);
  });

  test('rows that are kept stay so if those after them are too long', async () => {
    const { app, plain, store, opened } = await setup(1);
    await store.put(
      REF,
      textFrame(Array.from({ length: 1200 }, (_, i) => (i === 1100 ? 'x'.repeat(600_000) : `${i}`))),
    );
    for (let i = 1; i <= 3; i++) await read(app, target(i, 400));
    for (let i = 1; i <= 3; i++) await read(app, target(1000 + i, 1040));
    const before = opened.length;
    const window = await read(app, target(50, 70));
    expect(opened).toHaveLength(before);
    expect(window).toEqual(await read(plain, target(50, 70)));
  });
});
