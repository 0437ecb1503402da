import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, stat, statfs, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createHash } from 'node:crypto';

/** Flushes a directory (names created, renamed, removed) to disk. */
export type DirectorySync = () => Promise<void>;

/**
 * A flush of a directory, shared by concurrent callers: one that starts after several calls serves all of them, and
 * many small puts do not each wait for one.
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
export async function writeFlushed(path: string, content: string | Uint8Array): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(content);
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

/** True if an error has one of these system error codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);
}

/** The size and the SHA-256 checksum, in hexadecimal, of a copied file. */
export interface CopiedFile {
  readonly bytes: number;
  readonly sha256: string;
}

const CHUNK_BYTES = 1024 * 1024;

/** Copies an open file, from its start, to a new file, and flushes that. Its name is durable when its directory is flushed. */
export async function copyFlushed(source: FileHandle, path: string, signal?: AbortSignal): Promise<CopiedFile> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  const target = await open(path, 'wx');
  let bytes = 0;
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { bytesRead } = await source.read(buffer, 0, buffer.length, bytes);
      if (bytesRead === 0) break;
      hash.update(buffer.subarray(0, bytesRead));
      // Unlike `write`, this repeats a short write.
      await target.writeFile(buffer.subarray(0, bytesRead));
      bytes += bytesRead;
    }
    await target.sync();
  } finally {
    await target.close();
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** Opens a regular file, or a link to one, to read it. Undefined if there is none: opening a FIFO would block. */
export async function openRegular(path: string): Promise<FileHandle | undefined> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ENXIO', 'EOPNOTSUPP')) return undefined;
    throw error;
  });
  if (file === undefined || (await file.stat()).isFile()) return file;
  await file.close();
  return undefined;
}

/** What systems report if a file cannot have another name: no hard links, too many of them, or another file system. */
export const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV'];

/**
 * Creates a directory and its missing parents, and flushes each name that it creates, not those that exist. Node's recursive
 * `mkdir` loops forever if creating fails with ENOENT, as it does below /proc. A second caller in this process waits for the
 * first: the directory may exist already, but its name is not flushed yet.
 */
export const makeDirectory: (path: string) => Promise<void> = onceAtATime(makeWithParents);

async function makeWithParents(path: string): Promise<void> {
  try {
    await makeOne(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    await makeDirectory(dirname(path));
    await makeOne(path);
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (await isDirectory(path)) return;
    throw error;
  }
  await syncDirectory(dirname(path));
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** The types of file systems in memory, as Linux numbers them. */
const MEMORY_TYPES: ReadonlySet<number> = new Set([0x01021994, 0x858458f6]);

/** Returns the free space of the disk of a directory in bytes. Zero if it is in memory, or cannot be determined. */
export async function freeDiskBytes(directory: string): Promise<number> {
  try {
    const { type, bavail, bsize } = await statfs(directory);
    return MEMORY_TYPES.has(type) ? 0 : bavail * bsize;
  } catch {
    return 0;
  }
}

/** Reads the first bytes of a file, at most `maxBytes`. */
export async function readStart(path: string, maxBytes: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(size, maxBytes)));
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Returns a function to call `call` once for all who ask for the same key while it runs. */
export function onceAtATime<Key, T>(call: (key: Key) => Promise<T>): (key: Key) => Promise<T> {
  const running = new Map<Key, Promise<T>>();
  return (key) => {
    const known = running.get(key);
    if (known !== undefined) return known;
    const started = call(key).finally(() => running.delete(key));
    running.set(key, started);
    return started;
  };
}
