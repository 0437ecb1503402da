import { gunzipSync } from 'node:zlib';
import { createMemoryStore, parseHandle } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { createService } from '@svc/service';
import type { Hono } from 'hono';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ResponseCache, createResponseCache } from './response-cache.ts';
import { createExecApp, type ExecEnv } from '../index.ts';

async function* chunksOf(...sizes: number[]): AsyncGenerator<Uint8Array, void> {
  for (const size of sizes) yield new Uint8Array(size).fill(65);
}

async function drain(chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of chunks) bytes += chunk.byteLength;
  return bytes;
}

/** A cache in which these keys were requested once. */
async function cacheAskedFor(maxBytes: number, ...keys: string[]): Promise<ResponseCache> {
  const cache = createResponseCache(maxBytes);
  for (const key of keys) await drain(cache.keeping(key, chunksOf(1)));
  return cache;
}

/** Requests a key twice, so that its response is cached. */
async function keep(cache: ResponseCache, key: string, bytes: number): Promise<void> {
  for (let i = 0; i < 2; i++) await drain(cache.keeping(key, chunksOf(bytes)));
}

describe('createResponseCache', () => {
  test('caches a response that is requested again, once it is complete', async () => {
    const cache = createResponseCache(1e6);
    expect(await drain(cache.keeping('a', chunksOf(10, 20)))).toBe(30);
    expect(cache.get('a')).toBeUndefined();
    const chunks = cache.keeping('a', chunksOf(10, 20));
    await chunks.next();
    expect(cache.get('a')).toBeUndefined();
    expect(await drain(chunks)).toBe(20);
    expect(cache.get('a')?.bytes.byteLength).toBe(30);
  });

  test('does not cache a response that was abandoned, failed, or is too long', async () => {
    const cache = await cacheAskedFor(1e6, 'left', 'failed', 'long');
    const left = cache.keeping('left', chunksOf(10, 20));
    await left.next();
    await left.return();
    async function* failing(): AsyncGenerator<Uint8Array, void> {
      yield* chunksOf(10);
      throw new Error('no');
    }
    await expect(drain(cache.keeping('failed', failing()))).rejects.toThrow('no');
    expect(await drain(cache.keeping('long', chunksOf(30_000, 40_000)))).toBe(70_000);
    expect(['left', 'failed', 'long'].map((key) => cache.get(key))).toEqual([undefined, undefined, undefined]);
  });

  test('evicts the least recently used response, counting compressed bytes', async () => {
    const cache = createResponseCache(100_000);
    for (const key of ['a', 'b', 'c']) await keep(cache, key, 6000);
    for (let i = 0; i < 12; i++) {
      cache.get('a');
      await keep(cache, `n${i}`, 6000);
    }
    expect(['a', 'b', 'c', 'n10'].map((key) => cache.get(key) !== undefined)).toEqual([true, false, true, true]);
    await cache.get('a')?.compressed();
    await keep(cache, 'more', 6000);
    expect(['n0', 'more'].map((key) => cache.get(key) !== undefined)).toEqual([false, true]);
  });

  test('a long key counts, even if its response is short', async () => {
    const cache = createResponseCache(100_000);
    const keys = ['a', 'b', 'c'].map((letter) => letter.repeat(20_000));
    for (const key of keys) await keep(cache, key, 1);
    expect(keys.map((key) => cache.get(key) !== undefined)).toEqual([false, true, true]);
  });

  test('responses that are requested once evict nothing', async () => {
    const cache = createResponseCache(100_000);
    await keep(cache, 'a', 6000);
    for (let i = 0; i < 3000; i++) await drain(cache.keeping(`n${i}`, chunksOf(6000)));
    expect(cache.get('a')).toBeDefined();
  });

  test('a cache of no bytes caches nothing', async () => {
    const cache = createResponseCache(0);
    await keep(cache, 'a', 1);
    expect(cache.get('a')).toBeUndefined();
  });
});

describe('cached responses', () => {
  async function appWith(rows: number): Promise<{ app: Hono<ExecEnv>; put: (rows: number) => Promise<void> }> {
    const store = createMemoryStore();
    const service = createService({ store });
    onTestFinished(() => service.close());
    const put = async (count: number): Promise<void> => {
      await store.put({ tenant: 'default', handle: parseHandle('t') }, longFrame(count, { batchRows: 1000 }));
    };
    await put(rows);
    return { app: createExecApp({ service }), put };
  }

  const read = async (app: Hono<ExecEnv>, target: string, headers: Record<string, string> = {}): Promise<object> => {
    const response = await app.request(target, { headers });
    const body = Buffer.from(await response.arrayBuffer());
    const names = ['content-type', 'content-encoding', 'content-length', 'etag', 'vary', 'x-total-count'];
    const text = response.headers.get('content-encoding') === 'gzip' ? gunzipSync(body).toString() : body.toString();
    return { status: response.status, text, headers: names.map((name) => response.headers.get(name)) };
  };

  test.each<[target: string, headers: Record<string, string>]>([
    ['/exec?handle=t&fmt=json', {}],
    ['/exec?handle=t&fmt=json&limit=0', {}],
    ['/exec?handle=t&fmt=json', { 'accept-encoding': 'gzip' }],
    ['/exp?handle=t&fmt=csv&limit=5', { 'accept-encoding': 'gzip' }],
    ['/exp?handle=t&fmt=arrow', {}],
  ])('%s %j is the same, including headers', async (target, headers) => {
    const { app } = await appWith(2500);
    const first = await read(app, target, headers);
    expect(await read(app, target, headers)).toEqual(first);
    expect(await read(app, target, headers)).toEqual(first);
  });

  test('are sent, or are 304 for a client that has them, without opening the frame', async () => {
    const store = createMemoryStore();
    const opened: string[] = [];
    const service = createService({ store, observe: ({ kind }) => kind === 'frame_opened' && opened.push(kind) });
    onTestFinished(() => service.close());
    await store.put({ tenant: 'default', handle: parseHandle('t') }, longFrame(3));
    const app = createExecApp({ service });
    await app.request('/exec?handle=t&fmt=json');
    const first = await app.request('/exec?handle=t&fmt=json');
    const etag = first.headers.get('etag') ?? '';
    expect(await (await app.request('/exec?handle=t&fmt=json')).text()).toBe(await first.text());
    expect((await app.request('/exec?handle=t&fmt=json', { headers: { 'if-none-match': etag } })).status).toBe(304);
    expect(opened).toHaveLength(2);
  });

  test('have the requested version, part and format', async () => {
    const { app, put } = await appWith(3);
    const targets = [
      '',
      '&limit=2',
      '&limit=2,3',
      '&cols=id',
      '&quoteLargeNum=true',
      '&limit=2&count=true',
      '&nm=true',
    ].map((more) => `/exec?handle=t&fmt=json${more}`);
    const before = await Promise.all(targets.map((target) => read(app, target)));
    expect(new Set(before.map((answer) => JSON.stringify(answer))).size).toBe(6);
    await put(4);
    for (const target of targets) expect(await read(app, target)).not.toEqual(before[targets.indexOf(target)]);
    await app.request('/frames/t', { method: 'DELETE' });
    expect((await app.request(targets[0] ?? '')).status).toBe(404);
  });
});
