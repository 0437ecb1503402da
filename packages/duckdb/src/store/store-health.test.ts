import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TakenOverError } from '../disk/directory-lock.ts';
import { createTenantFolder, type TenantFolder } from './catalogue/tenant-folder.ts';
import { createWriteHealth, type WriteHealth } from './store-health.ts';

let directory: string;
let lockFailure: unknown;
let health: WriteHealth;
/** Replaces what `prepare` of the tenant folder does. */
let prepare: () => Promise<void>;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'write-health-'));
  lockFailure = undefined;
  prepare = async () => {};
  const folder: TenantFolder = createTenantFolder(directory, () => prepare());
  health = createWriteHealth({ foldersOf: () => [folder], lockFailure: () => lockFailure });
});

afterEach(() => rm(directory, { recursive: true }));

function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}

async function fail(error: Error): Promise<void> {
  const change = async (): Promise<never> => {
    throw error;
  };
  await expect(health.observe('default', change)).rejects.toBe(error);
}

test.each([
  ['EROFS', /read-only/],
  ['EACCES', /permission/],
  ['EPERM', /permission/],
  ['EIO', /disk reports an error/],
  ['ENOSPC', /disk .* is full/],
])('a directory whose changes and probes fail with %s cannot be written', async (code, message) => {
  prepare = () => Promise.reject(failure(code));
  await fail(failure(code));
  expect(await health.faults()).toEqual([{ kind: 'cannot_write', message: expect.stringMatching(message) }]);
});

test('a change whose outcome is not known counts as the error of the disk behind it', async () => {
  prepare = () => Promise.reject(failure('EIO'));
  await fail(new Error('It is not known.', { cause: new Error('It is not known.', { cause: failure('EIO') }) }));
  expect(await health.faults()).toHaveLength(1);
});

test('a change that fails for another reason says nothing about the directory', async () => {
  prepare = () => Promise.reject(failure('EROFS'));
  await fail(new Error('The upload is broken.'));
  expect(await health.faults()).toEqual([]);
});

test('a change that succeeds ends the fault', async () => {
  prepare = () => Promise.reject(failure('EIO'));
  await fail(failure('EIO'));
  expect(await health.faults()).toHaveLength(1);
  await health.observe('default', async () => 'done');
  expect(await health.faults()).toEqual([]);
});

test('a directory that accepts a small file can be written, and the file is removed', async () => {
  await fail(failure('ENOSPC'));
  expect(await health.faults()).toEqual([]);
  expect(await readdir(directory)).toEqual([]);
});

test.each([
  [failure('EROFS'), /read-only/],
  [new TakenOverError('/private', failure('ENOENT')), /^Another process has taken over the frames directory\.$/],
])('what the lock of the directory finds out counts without a change', async (error, message) => {
  lockFailure = error;
  expect(await health.faults()).toEqual([{ kind: 'cannot_write', message: expect.stringMatching(message) }]);
});

test('a disk that does not respond does not block health checks', { tags: ['slow'] }, async () => {
  prepare = () => new Promise(() => {});
  await fail(failure('EIO'));
  expect(await health.faults()).toEqual([
    { kind: 'cannot_write', message: 'The disk that stores the frames does not respond.' },
  ]);
});
