import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmdirSync } from 'node:fs';
import type { DirectoryLock } from '../disk/directory-lock.ts';
import type { LaunchedChild } from './launch-child.ts';
import { createEndingDirectory, type PrivateDirectory } from '../disk/ending-directory.ts';

/** A child with a private directory for its temporary files. */
export interface ChildInDirectory extends LaunchedChild {
  /** Resolves when the child has exited and its directory is removed. */
  readonly removed: Promise<void>;
}

/**
 * Starts a child with a private directory, which is removed when the child exits. DuckDB uses fixed names for its spill
 * files: two instances in one directory would read each other's data.
 */
export function launchInDirectory(
  parent: string,
  prefix: string,
  launch: (directory: string) => LaunchedChild,
): ChildInDirectory {
  return launchIn(makeDirectory(parent, prefix), launch);
}

/** Like `launchInDirectory`, but without a directory if none can be created: the child then keeps everything in memory. */
export function launchInDirectoryIfPossible(
  parent: string,
  prefix: string,
  launch: (directory: string | undefined) => LaunchedChild,
): ChildInDirectory {
  let directory: PrivateDirectory;
  try {
    directory = makeDirectory(parent, prefix);
  } catch {
    const launched = launch(undefined);
    return { ...launched, removed: endOf(launched.process) };
  }
  return launchIn(directory, launch);
}

function makeDirectory(parent: string, prefix: string): PrivateDirectory {
  return createEndingDirectory(parent, `${prefix}${process.pid}-`);
}

function launchIn(directory: PrivateDirectory, launch: (directory: string) => LaunchedChild): ChildInDirectory {
  try {
    const launched = launch(directory.path);
    return { ...launched, removed: removeAfter(launched.process, directory) };
  } catch (error) {
    rmdirSync(directory.path);
    throw error;
  }
}

async function endOf(child: ChildProcess): Promise<void> {
  // A child that could not be started has ended, too.
  await once(child, 'close').catch(() => undefined);
}

/** Locks the directory of a child, so that no other process sweeps it, and removes it when the child exits. */
async function removeAfter(child: ChildProcess, directory: PrivateDirectory): Promise<void> {
  // Without a lock, for example on a full disk, the directory may be swept by its age.
  const holding = lockLater(directory.path).catch(() => undefined);
  await endOf(child);
  await (await holding)?.release().catch(() => undefined);
  // A directory that cannot be removed is swept later.
  await directory.remove().catch(() => undefined);
}

/** Loads the modules of locks after the child is started: it does not wait for them. */
async function lockLater(path: string): Promise<DirectoryLock> {
  const { lockDirectory } = await import('../disk/directory-lock.ts');
  return lockDirectory(path);
}
