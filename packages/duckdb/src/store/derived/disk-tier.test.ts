import { createCacheBudget } from '@svc/frames/streams';
import { longFrame, readRows } from '@svc/frames/testing';
import { afterEach, expect, test, vi } from 'vitest';
import type { DecodedFile } from '../../files/frame-files.ts';
import { createDiskTier, type DecodeFrame, type DiskTier, type DiskTierOptions } from '../derived/disk-tier.ts';

interface Key {
  readonly name: string;
}

const key = (name: string): Key => ({ name });
/** The free space of the disk without the tier, which takes some of it. */
let totalBytes = 1e9;
/** The names of the files that were closed. */
const closed: string[] = [];

afterEach(() => {
  totalBytes = 1e9;
  closed.length = 0;
  vi.useRealTimers();
});

function decodedFile(name: string, bytes: number): DecodedFile {
  return {
    bytes,
    read: () => longFrame(2),
    async close() {
      closed.push(name);
    },
  };
}

/** Writes a file of this size in two steps. */
const decode =
  ({ name }: Key, bytes: number): DecodeFrame =>
  async (onSize) => {
    await onSize(bytes / 2);
    await onSize(bytes);
    return decodedFile(name, bytes);
  };

const add = (disk: DiskTier<Key>, frame: Key, bytes: number): Promise<boolean> =>
  disk.fill(frame, bytes, decode(frame, bytes));

function createTier(maxBytes: number, options: Partial<DiskTierOptions> = {}): DiskTier<Key> {
  const disk: DiskTier<Key> = createDiskTier<Key>({
    budget: createCacheBudget(maxBytes),
    freeBytes: async () => totalBytes - disk.usedBytes,
    ...options,
  });
  return disk;
}

test('a frame that was added can be opened', async () => {
  const disk = createTier(1000);
  const a = key('a');
  expect(disk.open(a)).toBeUndefined();
  expect(await add(disk, a, 100)).toBe(true);
  expect(disk.usedBytes).toBe(100);
  const opened = disk.open(a);
  expect(await readRows(opened!.read())).toEqual([[0n], [1n]]);
  opened?.close();
  expect(await add(disk, a, 100)).toBe(false);
});

test('the least recently used frames are evicted first, open ones stay', async () => {
  const disk = createTier(300);
  const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map(key) as [Key, Key, Key, Key, Key];
  for (const frame of [a, b, c]) await add(disk, frame, 100);
  disk.open(a)?.close();
  expect(await add(disk, d, 100)).toBe(true);
  expect(closed).toEqual(['b']);
  const opened = [a, c, d].map((frame) => disk.open(frame));
  expect(await add(disk, e, 100)).toBe(false);
  opened[1]?.close();
  expect(await add(disk, e, 100)).toBe(true);
  expect(closed).toEqual(['b', 'c']);
  expect(disk.usedBytes).toBe(300);
});

test('a frame that takes more than expected counts with what it takes, or is not kept', async () => {
  const disk = createTier(300);
  const [a, b] = [key('a'), key('b')] as const;
  expect(await disk.fill(a, 10, decode(a, 250))).toBe(true);
  expect(disk.usedBytes).toBe(250);
  expect(await disk.fill(b, 10, decode(b, 400))).toBe(false);
  expect([disk.usedBytes, disk.open(b)]).toEqual([0, undefined]);
});

test.each<[string, number, Partial<DiskTierOptions>, number]>([
  ['larger than the tier', 100, {}, 101],
  ['larger than half of the free space', 1e10, {}, 5e8 + 1],
  ['into the space that stays free', 1e10, { minFreeBytes: 9e8 }, 5e7 + 1],
  ['to a disk without space', 1000, { freeBytes: async () => 0 }, 1],
])('nothing is written %s, and nothing is evicted for it', async (_, maxBytes, options, bytes) => {
  const disk = createTier(maxBytes, options);
  await add(disk, key('other'), 0);
  const written = vi.fn<DecodeFrame>();
  expect(await disk.fill(key('a'), bytes, written)).toBe(false);
  expect(written).not.toHaveBeenCalled();
  expect([disk.usedBytes, closed]).toEqual([0, []]);
});

test('all frames together take at most half of what is free without them', async () => {
  totalBytes = 1000;
  const disk = createTier(1e9);
  const [a, b, c] = [key('a'), key('b'), key('c')] as const;
  expect([await add(disk, a, 300), await add(disk, b, 200)]).toEqual([true, true]);
  expect(disk.usedBytes).toBe(500);
  expect(await add(disk, c, 200)).toBe(true);
  expect([disk.usedBytes, closed]).toEqual([400, ['a']]);
});

test('a frame for which the space is gone when it is written is not kept', async () => {
  totalBytes = 1000;
  const disk = createTier(1e9);
  const a = key('a');
  const slow: DecodeFrame = async (onSize) => {
    await onSize(100);
    totalBytes = 300;
    await onSize(200);
    return decodedFile('never', 200);
  };
  expect(await disk.fill(a, 200, slow)).toBe(false);
  expect(disk.usedBytes).toBe(0);
});

test('if others take the space, the least recently used frames give back theirs, even open ones', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  totalBytes = 1000;
  const disk = createTier(1e9);
  const [a, b] = [key('a'), key('b')] as const;
  await add(disk, a, 200);
  await add(disk, b, 200);
  const reader = disk.open(a);
  disk.open(b)?.close();
  await vi.advanceTimersByTimeAsync(5000);
  expect(disk.usedBytes).toBe(400);
  totalBytes = 500;
  await vi.advanceTimersByTimeAsync(1000);
  expect([disk.usedBytes, closed]).toEqual([200, ['a']]);
  reader?.close();
  expect([disk.usedBytes, closed]).toEqual([200, ['a']]);
  totalBytes = 10;
  await vi.advanceTimersByTimeAsync(1000);
  expect([disk.usedBytes, closed, vi.getTimerCount()]).toEqual([0, ['a', 'b'], 0]);
});

test('a frame that cannot be written takes no space', async () => {
  const disk = createTier(1000);
  const failing: DecodeFrame = async (onSize) => {
    await onSize(100);
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
  };
  expect(await disk.fill(key('a'), 100, failing)).toBe(false);
  expect(disk.usedBytes).toBe(0);
});

test('a frame that is removed while it is written is not kept', async () => {
  const disk = createTier(1000);
  const a = key('a');
  const replaced: DecodeFrame = async (onSize) => {
    await onSize(100);
    disk.remove(a);
    return decodedFile('a', 100);
  };
  expect(await disk.fill(a, 100, replaced)).toBe(false);
  expect(closed).toEqual(['a']);
  const cleared: DecodeFrame = async (onSize) => {
    disk.clear();
    await onSize(100);
    return decodedFile('never', 100);
  };
  expect(await disk.fill(a, 100, cleared)).toBe(false);
  expect([disk.usedBytes, disk.open(a)]).toEqual([0, undefined]);
});

test('a frame that is removed while it is read is closed by its last reader', async () => {
  const disk = createTier(1000);
  const a = key('a');
  await add(disk, a, 100);
  const readers = [disk.open(a), disk.open(a)];
  disk.remove(a);
  expect(disk.open(a)).toBeUndefined();
  readers[0]?.close();
  expect([closed, disk.usedBytes]).toEqual([[], 100]);
  readers[1]?.close();
  expect([closed, disk.usedBytes]).toEqual([['a'], 0]);
});

test('a frame that is not read for a while is removed, also after it was moved', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const disk = createTier(1000, { idleMs: 1000 });
  const [a, b] = [key('a'), key('b')] as const;
  await add(disk, a, 100);
  const reader = disk.open(a);
  vi.advanceTimersByTime(5000);
  disk.move(a, b);
  expect(disk.open(a)).toBeUndefined();
  reader?.close();
  vi.advanceTimersByTime(999);
  disk.open(b)?.close();
  vi.advanceTimersByTime(999);
  expect(disk.usedBytes).toBe(100);
  vi.advanceTimersByTime(1);
  expect([disk.usedBytes, disk.open(b)]).toEqual([0, undefined]);
});

test('at most 64 files are open', async () => {
  const disk = createTier(1e6);
  for (let i = 0; i < 70; i++) await add(disk, key(`${i}`), 1);
  expect(disk.usedBytes).toBe(64);
  expect(closed).toEqual(['0', '1', '2', '3', '4', '5']);
});
