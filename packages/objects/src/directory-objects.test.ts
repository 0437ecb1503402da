import { execFileSync } from 'node:child_process';
import syncFs, { readlinkSync } from 'node:fs';
import fs, { type FileHandle, mkdir, mkdtemp, open, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createDirectoryObjects } from './directory-objects.ts';
import { OutcomeUnknown, readObject } from './objects.ts';
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

const listed = async (prefix = ''): Promise<string[]> => {
  const keys = [];
  for await (const key of createDirectoryObjects(root).list(prefix)) keys.push(key);
  return keys;
};

test('an unfinished file of a process that was killed is not listed', async () => {
  await writeFile(join(root, 'a.0123456789abcdef.unfinished'), 'half');
  expect(await listed()).toEqual([]);
});

test('a removal sweeps from its folder unfinished files that are older than an hour, and no others', async () => {
  const objects = createDirectoryObjects(root);
  for (const key of ['a/b/c', 'a/b/d', 'a/e']) await objects.create(key, Buffer.from('x'));
  const ages = { old: 61, young: 59, 'a/old': 61, 'a/b/old': 61, 'a/b/young': 59 };
  for (const [name, minutes] of Object.entries(ages)) {
    const path = join(root, `${name}.unfinished`);
    const time = new Date(Date.now() - minutes * 60_000);
    await writeFile(path, 'half');
    await utimes(path, time, time);
  }
  await mkdir(join(root, 'a/b/folder.unfinished'));
  await objects.remove(['a/b/c']);
  expect(await readdir(join(root, 'a/b'))).toEqual(['d', 'folder.unfinished', 'young.unfinished']);
  await rm(join(root, 'a/b/folder.unfinished'), { recursive: true });
  await rm(join(root, 'a/b/young.unfinished'));
  await objects.remove(['a/b/d']);
  expect(await readdir(join(root, 'a'))).toEqual(['e', 'old.unfinished']);
  await objects.remove(['a/e']);
  expect(await readdir(root)).toEqual(['old.unfinished', 'young.unfinished']);
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
  await symlink('/nowhere', join(root, 'link'));
  const objects = createDirectoryObjects(root);
  for (const key of ['fifo', 'folder', 'link']) {
    expect(await objects.get(key)).toBeUndefined();
    expect(await objects.stat(key)).toBeUndefined();
    await expect(objects.create(key, Buffer.from('x'))).rejects.toThrow(`"${key}" is not a file.`);
  }
  expect(await listed()).toEqual([]);
});

test('a link to a file is an object', async () => {
  const objects = createDirectoryObjects(root);
  await objects.create('a', Buffer.from('x'));
  await symlink(join(root, 'a'), join(root, 'link'));
  expect(await listed()).toEqual(['a', 'link']);
  expect(await objects.stat('link')).toEqual(await objects.stat('a'));
  expect((await readObject(objects, 'link', 10))?.bytes).toEqual(Buffer.from('x'));
  expect(await objects.create('link', Buffer.from('y'))).toBe(false);
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

test('a list has only names that are keys', async () => {
  for (const folder of ['a', 'a b', 'lost+found', 'ü', 'b.unfinished']) {
    await mkdir(join(root, folder));
    await writeFile(join(root, folder, 'x'), '');
  }
  for (const name of ['a/b c', 'a/ä', 'a/(1)']) await writeFile(join(root, name), '');
  expect(await listed()).toEqual(['a/x']);
  expect(await listed('a/')).toEqual(['a/x']);
  await expect(createDirectoryObjects(root).create('b.unfinished/y', Buffer.from('x'))).rejects.toThrow('Bad key');
});

describe('a create whose link fails', () => {
  const { link } = fs;
  const failing = (code: string): void => {
    const failed = async (): Promise<never> => {
      throw Object.assign(new Error(code), { code });
    };
    Object.assign(fs, { link: failed });
    syncBuiltinESMExports();
  };
  afterEach(() => {
    Object.assign(fs, { link });
    syncBuiltinESMExports();
  });
  const create = (): Promise<boolean> => createDirectoryObjects(root).create('a/b', Buffer.from('x'));

  test.each(['ENOSPC', 'EDQUOT', 'EACCES', 'EROFS', 'ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP'])(
    'with %s has made no object',
    async (code) => {
      failing(code);
      await expect(create()).rejects.toMatchObject({ code });
    },
  );

  test.each(['EPERM', 'ENOTSUP', 'EMLINK', 'EXDEV', 'ENOSYS'])('with %s needs another file system', async (code) => {
    failing(code);
    const hint = 'Keep the frames on a file system with hard links, such as ext4, XFS or APFS.';
    await expect(create()).rejects.toMatchObject({ code: 'unavailable', hint });
  });

  test.each(['EIO', 'ESTALE', 'ETIMEDOUT', 'EINTR', 'ENOLCK', 'EREMOTEIO'])(
    'with %s may have made the object',
    async (code) => {
      failing(code);
      await expect(create()).rejects.toThrow(OutcomeUnknown);
    },
  );
});

describe('a list of a folder', () => {
  const { readdirSync: read } = syncFs;
  /** Some file systems do not tell the types of entries; reading them fails then if one vanishes. */
  const failing = (count: number): void => {
    let left = count;
    const failed = (...args: unknown[]): unknown => {
      if (left-- > 0) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
      return Reflect.apply(read, syncFs, args);
    };
    Object.assign(syncFs, { readdirSync: failed });
    syncBuiltinESMExports();
  };
  afterEach(() => {
    Object.assign(syncFs, { readdirSync: read });
    syncBuiltinESMExports();
  });

  test('from which an entry vanishes is read again', async () => {
    await writeFile(join(root, 'a'), '');
    failing(2);
    expect(await listed()).toEqual(['a']);
  });

  test('fails if that goes on, and is never short', async () => {
    await writeFile(join(root, 'a'), '');
    failing(Infinity);
    await expect(listed()).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('that is not there is empty', async () => {
    failing(1);
    expect(await listed('none/')).toEqual([]);
  });
});

describe.runIf(process.platform === 'linux')('a create', () => {
  /** What was flushed, relative to the home. */
  let flushed: string[];
  /** The next flush of this path fails. */
  let broken: string | undefined;

  beforeEach(async () => {
    flushed = [];
    broken = undefined;
    const file = await open(root);
    const prototype: Pick<FileHandle, 'sync'> = Object.getPrototypeOf(file);
    await file.close();
    const { sync } = prototype;
    vi.spyOn(prototype, 'sync').mockImplementation(async function flush(this: Pick<FileHandle, 'sync'>) {
      const { fd } = this as FileHandle;
      const path = relative(root, readlinkSync(`/proc/self/fd/${fd}`)).replace(/[0-9a-f]{16}[.]unfinished$/, '*');
      if (path === broken) {
        broken = undefined;
        throw Object.assign(new Error('EIO'), { code: 'EIO' });
      }
      await sync.call(this);
      flushed.push(path);
    });
  });

  afterEach(() => {
    vi.restoreAllMocks();
  });

  const create = async (key: string, objects = createDirectoryObjects(root)): Promise<readonly string[]> => {
    await objects.create(key, Buffer.from('x'));
    return flushed.splice(0).toSorted();
  };

  test('in a new folder flushes the file and every folder', async () => {
    expect(await create('a/b/c')).toEqual(['', 'a', 'a/b', 'a/b/c.*']);
  });

  test('in a folder that it did not make flushes the same: who made it may not have done that yet', async () => {
    await mkdir(join(root, 'a/b'), { recursive: true });
    expect(await create('a/b/c')).toEqual(['', 'a', 'a/b', 'a/b/c.*']);
    expect(await create('a/b/c')).toEqual(['', 'a', 'a/b', 'a/b/c.*']);
  });

  test('flushes no name twice', async () => {
    const objects = createDirectoryObjects(root);
    await create('a/b/c', objects);
    expect(await create('a/b/d', objects)).toEqual(['a/b', 'a/b/d.*']);
    expect(await create('a/x/d', objects)).toEqual(['a', 'a/x', 'a/x/d.*']);
    expect(await create('d', objects)).toEqual(['', 'd.*']);
  });

  test('flushes the name of a folder that others removed and made again', async () => {
    const objects = createDirectoryObjects(root);
    await create('a/b/c', objects);
    await rm(join(root, 'a/b'), { recursive: true });
    await mkdir(join(root, 'a/b'));
    expect(await create('a/b/c', objects)).toEqual(['a', 'a/b', 'a/b/c.*']);
  });

  test.each(['', 'a', 'a/b'])(
    'is not known to be durable if the flush of %j fails, and flushes it again',
    async (path) => {
      const objects = createDirectoryObjects(root);
      broken = path;
      await expect(objects.create('a/b/c', Buffer.from('x'))).rejects.toThrow(OutcomeUnknown);
      flushed = [];
      expect(await objects.create('a/b/c', Buffer.from('x'))).toBe(false);
      expect(flushed).toContain(path);
    },
  );
});
