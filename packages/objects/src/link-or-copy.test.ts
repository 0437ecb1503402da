import { existsSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { linkOrCopy } from './durable-files.ts';

const OTHER = '/dev/shm';
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'link-or-copy-'));
  await writeFile(join(folder, 'a'), 'rows');
});
afterEach(() => rm(folder, { recursive: true }));

test('a second name is a hard link', async () => {
  await linkOrCopy(join(folder, 'a'), join(folder, 'b'));
  expect((await stat(join(folder, 'b'))).ino).toBe((await stat(join(folder, 'a'))).ino);
});

test.runIf(existsSync(OTHER) && statSync(OTHER).dev !== statSync(tmpdir()).dev)(
  'it is a copy if the system cannot link',
  async () => {
    const other = await mkdtemp(join(OTHER, 'link-or-copy-'));
    try {
      await linkOrCopy(join(folder, 'a'), join(other, 'b'));
      expect(await readFile(join(other, 'b'), 'utf8')).toBe('rows');
    } finally {
      await rm(other, { recursive: true });
    }
  },
);

test('an existing file is not replaced', async () => {
  await writeFile(join(folder, 'b'), 'other');
  await expect(linkOrCopy(join(folder, 'a'), join(folder, 'b'))).rejects.toMatchObject({ code: 'EEXIST' });
});
