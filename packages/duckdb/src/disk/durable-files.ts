import { constants } from 'node:fs';
import { open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Flushes a directory (names created, renamed, removed) to disk. */
export type DirectorySync = () => Promise<void>;

/**
 * A flush of a directory that concurrent callers share. A flush that starts after several calls serves all of them, so
 * that many small puts do not each wait for one.
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

/** Flushes a directory to disk. Windows cannot open directories, and does not need this. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Writes a small file atomically. The caller flushes the directory to make the name durable. */
export async function writeWhole(folder: string, name: string, unfinished: string, text: string): Promise<void> {
  const path = join(folder, unfinished);
  try {
    await writeFlushed(path, text);
    await rename(path, join(folder, name));
  } catch (error) {
    await unlinkIfThere(path).catch(() => {});
    throw error;
  }
}

/** Writes a new file and flushes it to disk. Its name is durable when the directory is flushed, too. */
export async function writeFlushed(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Most small files are shorter. */
const MAX_SMALL_BYTES = 64 * 1024;

/**
 * Returns the text of a small file that we wrote, or undefined if the path is something else, such as a FIFO, on which
 * a read would block forever. Fails if the file does not exist.
 */
export async function readSmallFile(path: string, maxBytes = MAX_SMALL_BYTES): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
    // A socket or a device without a driver.
    if (hasCode(error, 'ENXIO', 'EOPNOTSUPP')) return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    const status = await file.stat();
    if (!status.isFile() || status.size > maxBytes) return undefined;
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Removes a file if it exists. */
export async function unlinkIfThere(path: string): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw error;
  });
}

/** Whether an error has one of these system error codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);
}
