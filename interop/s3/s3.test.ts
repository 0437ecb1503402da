import { createHash, randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFrameLog } from '../../packages/duckdb/dist/store/log/frame-log.js';
import { isLinearizable } from '../../packages/duckdb/dist/testing/simulate-log.js';
import { checkCreates, createS3Objects, type S3Objects } from '../../packages/objects/dist/s3.js';
import { objectsContract } from '../../packages/objects/dist/testing/index.js';
import { createTestAuthority } from '../../tools/test-certificates.js';
import { ACCOUNT, startVersitygw } from './start-versitygw.js';

let gateway: { endpoint: string; stop: () => Promise<void> };
const opened: S3Objects[] = [];

beforeAll(async () => {
  gateway = await startVersitygw({ buckets: ['frames'] });
});

afterAll(async () => {
  for (const objects of opened) await objects.close();
  await gateway.stop();
});

let prefixes = 0;
const newPrefix = (): string => `p${(prefixes += 1)}`;

function open(options: Partial<Parameters<typeof createS3Objects>[0]> = {}): S3Objects {
  const objects = createS3Objects({
    endpoint: gateway.endpoint,
    bucket: 'frames',
    credentials: async () => ACCOUNT,
    ...options,
  });
  opened.push(objects);
  return objects;
}

objectsContract('a bucket', async () => {
  const prefix = newPrefix();
  return { objects: open({ prefix }), others: open({ prefix }) };
});

objectsContract('a whole bucket without a prefix', async () => {
  const objects = open();
  return {
    objects,
    close: async () => {
      for await (const key of objects.list('')) await objects.remove([key]);
    },
  };
});

test('the bucket keeps the condition of a create', async () => {
  await checkCreates(open({ prefix: newPrefix() }));
});

test('a file of 200 MB arrives as it was, without being in memory', async () => {
  const objects = open({ prefix: newPrefix() });
  const folder = await mkdtemp(join(tmpdir(), 's3-file-'));
  const path = join(folder, 'large');
  const block = randomBytes(1_000_000);
  const file = createWriteStream(path);
  for (let i = 0; i < 200; i++) if (!file.write(block)) await once(file, 'drain');
  file.end();
  await once(file, 'close');
  const memory = process.memoryUsage().rss;
  expect(await objects.create('large', { path })).toBe(true);
  const expected = createHash('sha256');
  for (let i = 0; i < 200; i++) expected.update(block);
  const received = createHash('sha256');
  const body = await objects.get('large');
  for await (const chunk of body?.chunks ?? []) received.update(chunk);
  expect(received.digest('hex')).toBe(expected.digest('hex'));
  expect(process.memoryUsage().rss - memory).toBeLessThan(150_000_000);
  await rm(folder, { recursive: true });
});

test('a list has more keys than a page', async () => {
  const objects = open({ prefix: newPrefix() });
  const keys = Array.from({ length: 1100 }, (_, i) => `k/${String(i).padStart(4, '0')}`);
  for (let i = 0; i < keys.length; i += 50) {
    await Promise.all(keys.slice(i, i + 50).map((key) => objects.create(key, new Uint8Array())));
  }
  const listed = [];
  for await (const key of objects.list('k/')) listed.push(key);
  expect(listed).toEqual(keys);
});

test('a range after the end of an object is empty', async () => {
  const objects = open({ prefix: newPrefix() });
  await objects.create('a', Buffer.from('0123'));
  const body = await objects.get('a', { range: { start: 10, end: 20 } });
  expect(body?.bytes).toBe(0);
  for await (const chunk of body?.chunks ?? []) expect(chunk).toHaveLength(0);
});

test.each([
  ['an unknown key', { credentials: async () => ({ ...ACCOUNT, accessKeyId: 'stranger' }) }, 'Check the access key.'],
  [
    'a wrong secret',
    { credentials: async () => ({ ...ACCOUNT, secretAccessKey: 'wrong' }) },
    'Check the secret key and the region.',
  ],
  ['a bucket that does not exist', { bucket: 'nothing' }, 'Create the bucket, or correct its name.'],
])('%s is refused with a hint', async (_name, options, hint) => {
  const objects = open(options);
  await expect(objects.create('a', Buffer.from('x'))).rejects.toMatchObject({ code: 'internal', hint });
  await expect(objects.get('a')).rejects.toMatchObject({ code: 'internal', hint });
});

test('TLS needs an authority that is trusted', async () => {
  const authority = await createTestAuthority();
  const secure = await startVersitygw({ buckets: ['frames'], tls: await authority.issue(['127.0.0.1']) });
  const objects = open({ endpoint: secure.endpoint, ca: authority.cert });
  expect(await objects.create('a', Buffer.from('x'))).toBe(true);
  expect(await objects.stat('a')).toMatchObject({ bytes: 1 });
  await expect(open({ endpoint: secure.endpoint }).get('a')).rejects.toMatchObject({ code: 'unavailable' });
  await secure.stop();
});

describe('frame logs of three processes over a bad network to the bucket', () => {
  const start = performance.now();
  const clock = { now: () => performance.now() - start, sleep, run: <T>(work: Promise<T>) => work };

  test.each([1, 2, 3, 4])('keep a linearizable history: %i', async (seed) => {
    const home = open({ prefix: newPrefix() });
    const world = { seed, rate: 0.25, keep: 2, tagMs: 1000, createLog: createFrameLog, real: { home, clock } };
    expect(await isLinearizable(world)).toBe(true);
  });
});
