import { constants } from 'node:fs';
import { open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Flushes what was done in a directory (names made, changed, removed) to disk. */
export type DirectorySync = () => Promise<void>;

/**
 * A flush of a directory that several callers share: one that begins after all of them have asked serves them all, so
 * that many small puts at once do not wait for one flush each.
 */
export function createDirectorySync(path: string): DirectorySync {
  let running: Promise<void> = Promise.resolve();
  let waiting: Promise<void> | undefined;
  return () => {
    waiting ??= running.then(() => {
      waiting = undefined;
      const flush = syncDirectory(path);
      running = flush.catch(() => {});
      return flush;
    });
    return waiting;
  };
}

/** Flushes a directory to disk. Windows cannot open one, and does not need it. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Writes a small file so that it is there whole or not at all; its name is flushed by whoever flushes the directory. */
export async function writeWhole(folder: string, name: string, unfinished: string, text: string): Promise<void> {
  const path = join(folder, unfinished);
  try {
    const file = await open(path, 'wx');
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(path, join(folder, name));
  } catch (error) {
    await unlinkIfThere(path).catch(() => {});
    throw error;
  }
}

/** Longer ones are not files that we wrote. */
const MAX_SMALL_BYTES = 64 * 1024;

/**
 * The text of a small file of ours; undefined if it is something else, such as a FIFO, which would be waited for without
 * end. A file that is not there is an error.
 */
export async function readSmallFile(path: string): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
    // A socket or a device without a driver.
    if (hasCode(error, 'ENXIO', 'EOPNOTSUPP')) return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    const status = await file.stat();
    if (!status.isFile() || status.size > MAX_SMALL_BYTES) return undefined;
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Removes a file; one that is not there is fine. */
export async function unlinkIfThere(path: string): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw error;
  });
}

/** Whether a failure is one of these of the operating system. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);
}
