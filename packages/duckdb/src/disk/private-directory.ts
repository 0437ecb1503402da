import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, promises, renameSync, rmSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type DirectoryLock, isAbandoned, lockDirectory, TakenOverError } from './directory-lock.ts';

/** The prefix of the names of private directories. */
const PREFIX = 'svc-frames-';
const NAME = new RegExp(`^${PREFIX}`);

/**
 * Creates a directory for this user alone, below a shared one such as /tmp. Also removes directories of dead
 * processes there: an open store holds the lock of its directory, and a dead one does not.
 */
export async function createPrivateDirectory(parent: string): Promise<PrivateDirectory> {
  const directory = createEndingDirectory(parent, PREFIX);
  await sweepAbandoned(parent, NAME).catch(async (error: unknown) => {
    await directory.remove();
    throw error;
  });
  return directory;
}

/** A private directory, created on first use and locked until it is removed. */
export interface LaterDirectory extends PrivateDirectory {
  /** Creates the directory, if it was not created before or someone has removed it. */
  make(): Promise<void>;
  /** How often the directory was found to be removed by others, with all that was in it. */
  readonly losses: number;
  /** Removes those of dead processes, as far as that is possible. */
  sweep(): Promise<void>;
}

/** Reserves the path of a private directory without a store. `mode`: of the directory, before the umask. */
export function planPrivateDirectory(parent: string, prefix: string = PREFIX, mode = 0o700): LaterDirectory {
  const path = join(parent, `${prefix}${randomBytes(12).toString('hex')}`);
  const names = new RegExp(`^${prefix.replaceAll('.', String.raw`\.`)}[0-9a-f]{24}(?:-ended)?$`);
  let making: Promise<DirectoryLock> | undefined;
  let held: DirectoryLock | undefined;
  let losses = 0;
  const isLost = (): boolean => held?.failure instanceof TakenOverError;

  async function makeAndHold(isAgain: boolean): Promise<DirectoryLock> {
    mkdirSync(path, { mode, recursive: isAgain });
    endWithProcess(path);
    try {
      await sweepAbandoned(parent, names);
      held = await lockDirectory(path);
      return held;
    } catch (error) {
      await removeEnding(path);
      throw error;
    }
  }

  return {
    path,
    get losses() {
      return losses + (isLost() ? 1 : 0);
    },
    sweep: () => sweepAbandoned(parent, names).catch(() => {}),
    async make() {
      if (isLost()) {
        const released = held?.release().catch(() => {});
        held = undefined;
        losses += 1;
        making = Promise.resolve(released).then(() => makeAndHold(true));
      }
      making ??= makeAndHold(false);
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

/** Removes directories of this user and of dead processes. */
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

/** A directory for this process alone, removed when the process ends. */
export interface PrivateDirectory {
  readonly path: string;
  /** Removes the directory and its contents. */
  remove(): Promise<void>;
}

/** Creates a directory for this user alone. Directories of killed processes stay. */
export function createEndingDirectory(parent: string, prefix: string): PrivateDirectory {
  const path = mkdtempSync(join(parent, prefix));
  endWithProcess(path);
  return { path, remove: () => removeEnding(path) };
}

/** The existing directories. */
const ending = new Set<string>();
let isEndWatched = false;

/** Removes a directory synchronously on exit: a process cannot await when it exits in the middle of its work. */
function endWithProcess(path: string): void {
  ending.add(path);
  if (isEndWatched) return;
  isEndWatched = true;
  process.once('exit', () => {
    for (const left of ending) {
      try {
        // A running engine may still write into the directory, but not under the new name.
        renameSync(left, `${left}-ended`);
        rmSync(`${left}-ended`, { recursive: true, force: true });
      } catch {
        // The next process sweeps what is left.
      }
    }
  });
}

/** Removes such a directory now. */
async function removeEnding(path: string): Promise<void> {
  await promises.rm(path, { recursive: true, force: true });
  ending.delete(path);
}
