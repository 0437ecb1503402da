import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbandoned, lockDirectory } from './directory-lock.ts';

/** A directory for this process alone, which ends with it. */
export interface PrivateDirectory {
  readonly path: string;
  /** Removes it with everything in it. */
  remove(): Promise<void>;
}

/** How the names of private directories begin. */
const PREFIX = 'svc-frames-';

/**
 * Makes a directory that only this user can read, below one that all may write to. Those of processes that ended without
 * removing theirs are removed there: a store that is opened in the directory holds it, and that tells them apart.
 */
export async function createPrivateDirectory(parent: string): Promise<PrivateDirectory> {
  const path = await mkdtemp(join(parent, PREFIX));
  const remove = (): Promise<void> => rm(path, { recursive: true, force: true });
  await sweepAbandoned(parent).catch(async (error: unknown) => {
    await remove();
    throw error;
  });
  return { path, remove };
}

/** A private directory in which no store is opened: it is held until it is removed. */
export async function holdPrivateDirectory(parent: string): Promise<PrivateDirectory> {
  const directory = await createPrivateDirectory(parent);
  try {
    const lock = await lockDirectory(directory.path);
    return {
      path: directory.path,
      async remove() {
        await lock.release();
        await directory.remove();
      },
    };
  } catch (error) {
    await directory.remove();
    throw error;
  }
}

async function sweepAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    // What somebody else made, or cannot be looked at, is not ours to remove.
    if (name.startsWith(PREFIX)) await sweepOne(join(parent, name)).catch(() => {});
  }
}

async function sweepOne(path: string): Promise<void> {
  const entry = await lstat(path);
  const isOurs = entry.isDirectory() && entry.uid === (process.getuid?.() ?? entry.uid);
  if (isOurs && (await isAbandoned(path))) await rm(path, { recursive: true, force: true });
}
