import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmdirSync } from 'node:fs';
import { lockDirectory } from '../disk/directory-lock.ts';
import type { LaunchedChild } from './launch-child.ts';
import { createEndingDirectory, type PrivateDirectory, sweepAbandoned } from '../disk/private-directory.ts';

/** A child, and the directory that it puts its temporary files into. */
export interface ChildInDirectory extends LaunchedChild {
  /** Resolves when the child has ended and its directory is gone. */
  readonly removed: Promise<void>;
}

/**
 * Starts a child with a private directory, which goes when the child has ended. DuckDB uses fixed names for what it
 * spills: two of them in one directory would read each other's data.
 */
export function launchInDirectory(
  parent: string,
  prefix: string,
  launch: (directory: string) => LaunchedChild,
): ChildInDirectory {
  return launchIn(makeDirectory(parent, prefix), launch);
}

/** As `launchInDirectory`; without a directory if none can be made, so that the child keeps all in memory. */
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
  // One that could not be started has ended too.
  await once(child, 'close').catch(() => undefined);
}

/** Holds the directory of a child, so that no other process sweeps it, and removes it when the child has ended. */
async function removeAfter(child: ChildProcess, directory: PrivateDirectory): Promise<void> {
  // If there is no room even for that, the directory is as old as it looks.
  const holding = lockDirectory(directory.path).catch(() => undefined);
  await endOf(child);
  await (await holding)?.release().catch(() => undefined);
  // What cannot be removed is swept later.
  await directory.remove().catch(() => undefined);
}

/** Removes the directories that children of killed processes of this user have left. */
export async function sweepChildDirectories(parent: string, prefix: string): Promise<void> {
  // A directory that cannot be listed has none that can be used.
  await sweepAbandoned(parent, new RegExp(`^${prefix}\\d+-`)).catch(() => undefined);
}
