import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDirectoryObjects } from './directory-objects.ts';
import { readObject } from './objects.ts';
import { objectsContract } from './testing/objects-contract.ts';

objectsContract('a directory', async () => {
  const root = await mkdtemp(join(tmpdir(), 'objects-'));
  return {
    objects: createDirectoryObjects(root),
    others: createDirectoryObjects(root),
    close: () => rm(root, { recursive: true }),
  };
});

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'objects-'));
});

afterEach(() => rm(root, { recursive: true }));

test('a create leaves no other file, also if the name exists', async () => {
  const objects = createDirectoryObjects(root);
  await objects.create('a/b', Buffer.from('1'));
  await objects.create('a/b', Buffer.from('2'));
  expect(await readdir(join(root, 'a'))).toEqual(['b']);
});

test('an unfinished file of a process that was killed is not listed', async () => {
  await writeFile(join(root, 'a.0123456789abcdef.unfinished'), 'half');
  const keys = [];
  for await (const key of createDirectoryObjects(root).list('')) keys.push(key);
  expect(keys).toEqual([]);
});

test('removing the last object of a folder removes the folder, not the home', async () => {
  const objects = createDirectoryObjects(root);
  await objects.create('a/b/c', Buffer.from('1'));
  await objects.create('a/d', Buffer.from('1'));
  await objects.remove(['a/b/c']);
  expect(await readdir(join(root, 'a'))).toEqual(['d']);
  await objects.remove(['a/d']);
  expect(await readdir(root)).toEqual([]);
});

test('objects can be created while others remove the folder', async () => {
  const objects = createDirectoryObjects(root);
  for (let round = 0; round < 50; round++) {
    const [, created] = await Promise.all([
      objects.remove([`f/g/${round - 1}`]),
      objects.create(`f/g/${round}`, Buffer.from('x')),
    ]);
    expect(created).toBe(true);
    expect(await objects.stat(`f/g/${round}`)).toBeDefined();
  }
});

test('what is not a regular file is no object, and does not block', async () => {
  execFileSync('mkfifo', [join(root, 'fifo')]);
  await mkdir(join(root, 'folder'));
  await symlink('/etc/hostname', join(root, 'link'));
  const objects = createDirectoryObjects(root);
  for (const key of ['fifo', 'folder']) {
    expect(await objects.get(key)).toBeUndefined();
    expect(await objects.stat(key)).toBeUndefined();
    expect(await objects.create(key, Buffer.from('x'))).toBe(false);
  }
  const keys = [];
  for await (const key of objects.list('')) keys.push(key);
  expect(keys).toEqual([]);
});

test('a hard link of an object, as a backup makes it, does not change its tag', async () => {
  const objects = createDirectoryObjects(root);
  await objects.create('a', Buffer.from('x'));
  const tag = (await objects.stat('a'))?.tag;
  execFileSync('ln', [join(root, 'a'), join(root, 'b')]);
  expect((await objects.stat('a'))?.tag).toBe(tag);
  expect((await readObject(objects, 'a', 10))?.tag).toBe(tag);
});

test('a body on another file system is refused with a hint', async ({ skip }) => {
  const path = '/dev/shm/svc-objects-test';
  try {
    await writeFile(path, 'x');
  } catch {
    skip();
  }
  try {
    const created = createDirectoryObjects(root).create('a', { path });
    await expect(created).rejects.toMatchObject({ code: 'unavailable', hint: expect.stringContaining('hard links') });
  } finally {
    await rm(path, { force: true });
  }
});
