import type { FrameStream, OpenFrame } from '@svc/frames';
import { longFrame, readRows } from '@svc/frames/testing';
import { expect, test } from 'vitest';
import { createHotTier, type HotTier } from '../derived/hot-tier.ts';

interface Key {
  readonly name: string;
}

async function add(hot: HotTier<Key>, key: Key, source: FrameStream, expectedBytes = 1): Promise<boolean> {
  const filling = hot.fill(key, source.schema, expectedBytes);
  if (filling === undefined) return false;
  for await (const batch of source.batches) if (!(await filling.add(batch))) return false;
  filling.finish();
  filling.keep(key);
  return hot.has(key);
}

const rows = (frame: Pick<OpenFrame, 'read'> | undefined): Promise<unknown[][]> => readRows(frame!.read({ limit: 2 }));
const key = (name: string): Key => ({ name });

/** The size of a frame in the tier. */
async function bytesOf(count: number): Promise<number> {
  const hot = createHotTier<Key>(1e9);
  await add(hot, key('x'), longFrame(count));
  return hot.usedBytes;
}

test('a loaded frame can be opened, and counts its buffers', async () => {
  const hot = createHotTier<Key>(100_000);
  const a = key('a');
  expect(hot.open(a)).toBeUndefined();
  expect(await add(hot, a, longFrame(1000))).toBe(true);
  expect(hot.usedBytes).toBeGreaterThanOrEqual(8000);
  expect(await rows(hot.open(a))).toEqual([[0n], [1n]]);
});

test('the least recently used frames are evicted first, open ones stay', async () => {
  const one = await bytesOf(1000);
  const hot = createHotTier<Key>(3 * one);
  const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map(key) as [Key, Key, Key, Key, Key];
  for (const frame of [a, b, c]) await add(hot, frame, longFrame(1000));
  hot.open(a)?.close();
  await add(hot, d, longFrame(1000));
  expect([a, b, c, d].map((frame) => hot.has(frame))).toEqual([true, false, true, true]);
  const opened = [hot.open(c), hot.open(a), hot.open(d)];
  expect(await add(hot, e, longFrame(1000))).toBe(false);
  opened[1]?.close();
  expect(await add(hot, e, longFrame(1000))).toBe(true);
  expect(hot.has(a)).toBe(false);
  expect(await rows(opened[0])).toEqual([[0n], [1n]]);
  expect(hot.usedBytes).toBe(3 * one);
});

test('the size never exceeds the budget while frames are loaded in parallel', async () => {
  const maxBytes = 200_000;
  const hot = createHotTier<Key>(maxBytes);
  let most = 0;
  const watched = ({ schema, batches }: FrameStream): FrameStream => ({
    schema,
    batches: (async function* () {
      for await (const batch of batches) {
        yield batch;
        most = Math.max(most, hot.usedBytes);
      }
    })(),
  });
  await Promise.all(
    Array.from({ length: 40 }, (_, i) => add(hot, key(`${i}`), watched(longFrame(100 * i, { batchRows: 64 })))),
  );
  expect(most).toBeGreaterThan(maxBytes / 2);
  expect(most).toBeLessThanOrEqual(maxBytes);
});

test('a frame that turns out not to fit frees its bytes', async () => {
  const hot = createHotTier<Key>(50_000);
  expect(await add(hot, key('a'), longFrame(10_000, { batchRows: 100 }))).toBe(false);
  expect(hot.usedBytes).toBe(0);
  expect(hot.fill(key('b'), longFrame(1).schema, 50_001)).toBeUndefined();
  expect(createHotTier<Key>(0).fillNew(longFrame(1).schema)).toBeUndefined();
});

test('a frame is loaded once at a time, and not after it was removed', async () => {
  const hot = createHotTier<Key>(50_000);
  const a = key('a');
  const { schema, batches } = longFrame(10);
  const filling = hot.fill(a, schema, 1);
  expect(hot.fill(a, schema, 1)).toBeUndefined();
  for await (const batch of batches) await filling?.add(batch);
  hot.remove(a);
  filling?.finish();
  filling?.keep(a);
  expect(hot.has(a)).toBe(false);
  expect(hot.usedBytes).toBe(0);
  expect(await add(hot, a, longFrame(10))).toBe(true);
});

test('a removed frame counts until it is closed', async () => {
  const hot = createHotTier<Key>(50_000);
  const a = key('a');
  await add(hot, a, longFrame(10));
  const opened = hot.open(a);
  hot.remove(a);
  expect(hot.open(a)).toBeUndefined();
  expect(hot.usedBytes).toBeGreaterThan(0);
  expect(await rows(opened)).toHaveLength(2);
  opened?.close();
  expect(hot.usedBytes).toBe(0);
});

test('5 000 tiny frames pass through a budget for 1 000', { tags: ['slow'] }, async () => {
  const one = await bytesOf(1);
  const hot = createHotTier<Key>(1000 * one);
  const keys = Array.from({ length: 5000 }, (_, i) => key(`${i}`));
  for (const frame of keys) await add(hot, frame, longFrame(1));
  expect(hot.usedBytes).toBe(1000 * one);
  expect(keys.findIndex((frame) => hot.has(frame))).toBe(4000);
});
