import { expect, test } from 'vitest';
import { freeDiskBytes } from './durable-files.ts';

test('a directory on a disk has free space', async () => {
  expect(await freeDiskBytes(import.meta.dirname)).toBeGreaterThan(0);
});

test.runIf(process.platform === 'linux')('a file system in memory has none', async () => {
  expect(await freeDiskBytes('/dev/shm')).toBe(0);
});

test('neither has a directory that does not exist', async () => {
  expect(await freeDiskBytes('/nowhere/at/all')).toBe(0);
});
