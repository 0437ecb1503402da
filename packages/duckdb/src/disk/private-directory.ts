import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type DirectoryLock, isAbandoned, lockDirectory } from './directory-lock.ts';

/** A directory for this process alone, which ends with it. */
export interface PrivateDirectory {
  readonly path: string;
  /** Removes it with everything in it. */
  remove(): Promise<void>;
}

/** How the names of private directories begin. */
const PREFIX = 'svc-frames-';
const NAME = new RegExp(`^${PREFIX}`);

/**
 * Makes a directory that only this user can read, below one that all may write to. Those of processes that ended without
 * removing theirs are removed there: a store that is opened in the directory holds it, and that tells them apart.
 */
export async function createPrivateDirectory(parent: string): Promise<PrivateDirectory> {
  const directory = createEndingDirectory(parent, PREFIX);
  await sweepAbandoned(parent, NAME).catch(async (error: unknown) => {
    await directory.remove();
    throw error;
  });
  return directory;
}

/** Makes a directory that only this user can read, with a name that begins so. What a killed process leaves stays. */
export function createEndingDirectory(parent: string, prefix: string): PrivateDirectory {
  const path = mkdtempSync(join(parent, prefix));
  endWithProcess(path);
  return { path, remove: () => removeEnding(path) };
}

/** A private directory that is there from when it is first needed on, and is held until it is removed. */
export interface LaterDirectory extends PrivateDirectory {
  /** Makes it, unless that was done. */
  make(): Promise<void>;
}

/** The place of a private directory in which no store is opened, with a name that begins so. */
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
        // Whoever needs it next tries again.
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

/** Those that are there. */
const ending = new Set<string>();
let isEndWatched = false;

/** A process that exits in the middle of its work, as at Ctrl-C, runs nothing that waits. */
function endWithProcess(path: string): void {
  ending.add(path);
  if (isEndWatched) return;
  isEndWatched = true;
  process.once('exit', () => {
    for (const left of ending) {
      try {
        // An engine that has not ended yet may write into it; nobody knows it by another name.
        renameSync(left, `${left}-ended`);
        rmSync(`${left}-ended`, { recursive: true, force: true });
      } catch {
        // The next process sweeps what the system does not let go of.
      }
    }
  });
}

async function removeEnding(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
  ending.delete(path);
}

/** Removes directories of this user with such names whose processes have ended without that. */
export async function sweepAbandoned(parent: string, name: RegExp): Promise<void> {
  for (const entry of await readdir(parent)) {
    // What somebody else made, or cannot be looked at, is not ours to remove.
    if (name.test(entry)) await sweepOne(join(parent, entry)).catch(() => {});
  }
}

async function sweepOne(path: string): Promise<void> {
  const entry = await lstat(path);
  const isOurs = entry.isDirectory() && entry.uid === (process.getuid?.() ?? entry.uid);
  if (isOurs && (await isAbandoned(path))) await rm(path, { recursive: true, force: true });
}
