import { mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeDirectory } from './durable-files.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-make-'));
});

afterEach(() => rm(folder, { recursive: true }));

test.each(['.', 'a', 'a/b/c'])('%s is there afterwards, and making it again changes nothing', async (name) => {
  const path = join(folder, name);
  await makeDirectory(path);
  const made = await stat(path);
  expect(made.isDirectory()).toBe(true);
  await makeDirectory(path);
  expect((await stat(path)).ino).toBe(made.ino);
});

test('concurrent calls for the same directories all succeed', async () => {
  for (let round = 0; round < 100; round++) {
    const paths = Array.from({ length: 20 }, (_, index) => join(folder, `${round}/a/${index % 5}`));
    await Promise.all(paths.map(makeDirectory));
    expect((await readdir(join(folder, `${round}/a`))).length).toBe(5);
  }
});

test('a concurrent call waits until the name is flushed', async () => {
  const path = join(folder, 'a');
  const made = makeDirectory(path);
  expect(makeDirectory(path)).toBe(made);
  await made;
});

test.each([
  ['a file is in its place', 'file', 'EEXIST'],
  ['a file is above it', 'file/a/b', 'ENOTDIR'],
  ['a link that leads nowhere is in its place', 'link', 'EEXIST'],
  ['a link that leads nowhere is above it', 'link/a/b', 'EEXIST'],
])('where %s it fails', async (_, name, code) => {
  await writeFile(join(folder, 'file'), '');
  await symlink(join(folder, 'nowhere'), join(folder, 'link'));
  await expect(makeDirectory(join(folder, name))).rejects.toMatchObject({ code });
});

test.runIf(process.platform === 'linux').each(['/proc/svc', '/proc/svc/a/b'])('%s cannot be made', async (path) => {
  await expect(makeDirectory(path)).rejects.toMatchObject({ code: 'ENOENT' });
});
