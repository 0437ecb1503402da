import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type DirectoryLock, isAbandoned, lockDirectory } from './directory-lock.ts';
import { createEndingDirectory, endWithProcess, type PrivateDirectory, removeEnding } from './ending-directory.ts';

/** The prefix of the names of private directories. */
const PREFIX = 'svc-frames-';
const NAME = new RegExp(`^${PREFIX}`);

/**
 * Creates a directory that only this user can read, below a shared one such as /tmp. Also removes directories that dead
 * processes left there; a store that is open in a directory holds its lock, which tells them apart.
 */
export async function createPrivateDirectory(parent: string): Promise<PrivateDirectory> {
  const directory = createEndingDirectory(parent, PREFIX);
  await sweepAbandoned(parent, NAME).catch(async (error: unknown) => {
    await directory.remove();
    throw error;
  });
  return directory;
}

/** A private directory that is created on first use and locked until it is removed. */
export interface LaterDirectory extends PrivateDirectory {
  /** Creates the directory, if it was not created before. */
  make(): Promise<void>;
}

/** Reserves the path of a private directory in which no store will be opened. */
export function planPrivateDirectory(parent: string, prefix: string = PREFIX): LaterDirectory {
  const path = join(parent, `${prefix}${randomBytes(12).toString('hex')}`);
  let making: Promise<DirectoryLock> | undefined;

  async function makeAndHold(): Promise<DirectoryLock> {
    mkdirSync(path, { mode: 0o700 });
    endWithProcess(path);
    try {
      await sweepAbandoned(parent, new RegExp(`^${prefix}`));
      return await lockDirectory(path);
    } catch (error) {
      await removeEnding(path);
      throw error;
    }
  }

  return {
    path,
    async make() {
      making ??= makeAndHold();
      await making.catch((error: unknown) => {
        // The next call retries.
        making = undefined;
        throw error;
      });
    },
    async remove() {
      const lock = await making?.catch(() => undefined);
      await lock?.release();
      if (lock !== undefined) await removeEnding(path);
    },
  };
}

/** Removes directories of this user that dead processes left behind. */
export async function sweepAbandoned(parent: string, name: RegExp): Promise<void> {
  for (const entry of await readdir(parent)) {
    // Directories of other users, or unreadable ones, are not ours to remove.
    if (name.test(entry)) await sweepOne(join(parent, entry)).catch(() => {});
  }
}

async function sweepOne(path: string): Promise<void> {
  const entry = await lstat(path);
  const isOurs = entry.isDirectory() && entry.uid === (process.getuid?.() ?? entry.uid);
  if (isOurs && (await isAbandoned(path))) await rm(path, { recursive: true, force: true });
}
