import { longFrame, readRows } from '@svc/frames/testing';
import { afterEach, expect, test, vi } from 'vitest';
import type { DecodedFile } from '../../files/frame-files.ts';
import { createDiskTier, type DecodeFrame, type DiskTier } from './disk-tier.ts';

interface Key {
  readonly name: string;
}

const key = (name: string): Key => ({ name });
/** The temporary directory may be in memory. Nothing is written here. */
const directory = import.meta.dirname;
/** The names of the files that were closed. */
const closed: string[] = [];

afterEach(() => {
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
    onSize(bytes / 2);
    await Promise.resolve();
    onSize(bytes);
    return decodedFile(name, bytes);
  };

const add = (disk: DiskTier<Key>, frame: Key, bytes: number): Promise<boolean> =>
  disk.fill(frame, bytes, decode(frame, bytes));

const createTier = (maxBytes: number): DiskTier<Key> => createDiskTier({ maxBytes, directory });

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

test.each([
  ['larger than the tier', { maxBytes: 100 }, 101],
  ['larger than half of the free space', { maxBytes: Number.MAX_SAFE_INTEGER }, 2 ** 52],
  ['into the space that stays free', { maxBytes: 1000, minFreeBytes: Number.MAX_SAFE_INTEGER }, 1],
  ['into a directory that does not exist', { maxBytes: 1000, directory: '/nowhere/at/all' }, 1],
])('nothing is written %s', async (_, options, bytes) => {
  const disk = createDiskTier<Key>({ directory, ...options });
  const written = vi.fn<DecodeFrame>();
  expect(await disk.fill(key('a'), bytes, written)).toBe(false);
  expect(written).not.toHaveBeenCalled();
  expect(disk.usedBytes).toBe(0);
});

test.runIf(process.platform === 'linux')('nothing is written into a file system in memory', async () => {
  const disk = createDiskTier<Key>({ maxBytes: 1000, directory: '/dev/shm' });
  expect(await add(disk, key('a'), 1)).toBe(false);
});

test('a frame that cannot be written takes no space', async () => {
  const disk = createTier(1000);
  const failing: DecodeFrame = async (onSize) => {
    onSize(100);
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
  };
  expect(await disk.fill(key('a'), 100, failing)).toBe(false);
  expect(disk.usedBytes).toBe(0);
});

test('a frame that is removed while it is written is not kept', async () => {
  const disk = createTier(1000);
  const a = key('a');
  const replaced: DecodeFrame = async (onSize) => {
    onSize(100);
    disk.remove(a);
    return decodedFile('a', 100);
  };
  expect(await disk.fill(a, 100, replaced)).toBe(false);
  expect(closed).toEqual(['a']);
  const cleared: DecodeFrame = async (onSize) => {
    disk.clear();
    onSize(100);
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
  const disk = createDiskTier<Key>({ maxBytes: 1000, directory, idleMs: 1000 });
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
