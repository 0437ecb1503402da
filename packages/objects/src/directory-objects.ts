import { randomBytes } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
} from 'node:fs';
import { type FileHandle, link, mkdir, open, readdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import {
  createDirectorySync,
  type DirectorySync,
  hasCode,
  makeDirectory,
  NO_LINKS,
  unlinkIfThere,
  writeFlushed,
} from './durable-files.ts';
import {
  checkKey,
  checkPrefix,
  type GetOptions,
  isFile,
  isKey,
  type ListOptions,
  type ObjectBody,
  type Objects,
  OutcomeUnknown,
  UNFINISHED,
} from './objects.ts';

/** Options of `createDirectoryObjects`. */
export interface DirectoryObjectsOptions {
  /** Returns the path of a new file on the same file system, in which an object begins. Default: beside the object. */
  readonly newFile?: () => Promise<string>;
}

/**
 * The objects of a directory, which any number of processes may use at once. `link(2)` fails if the name exists: it makes a
 * flushed file the object in one step. The file system must have hard links, and show to everyone at once what one has done.
 * NFS does that only if it is mounted with `lookupcache=none,actimeo=0`: otherwise its clients answer from what they remember.
 */
export function createDirectoryObjects(root: string, { newFile }: DirectoryObjectsOptions = {}): Objects {
  const flush = createFlush();
  const flushNames = createNameFlush(root, flush);

  async function place(path: string, key: string): Promise<boolean> {
    const target = join(root, key);
    const isNew = await inFolder(root, dirname(target), () => link(path, target)).then(
      () => true,
      (error: unknown) => {
        if (hasCode(error, 'EEXIST')) {
          // A link to nothing is there, too.
          if (statIfThere(target)?.isFile() !== true && lstatIfThere(target)) throw notAFile(key);
          return false;
        }
        if (hasCode(error, ...NO_LINKS)) throw withoutLinks(error);
        throw hasCode(error, ...REFUSALS) ? error : new OutcomeUnknown(key, error);
      },
    );
    try {
      // Also if the name exists: it may be that of an earlier attempt whose flush failed.
      await Promise.all([flush(dirname(target)), flushNames(dirname(key))]);
    } catch (error) {
      // Others see the name already.
      throw new OutcomeUnknown(key, error);
    }
    return isNew;
  }

  return {
    get: async (key, options) => openObject(pathOf(root, key), options),
    async stat(key, signal) {
      signal?.throwIfAborted();
      // Synchronous: every read of a hot frame asks twice, and a promise of it takes three times as long.
      const found = statIfThere(pathOf(root, key));
      if (found?.isFile() !== true) return undefined;
      return { tag: tagOf(found), bytes: Number(found.size), modified: found.mtime };
    },
    async create(key, body, signal) {
      const target = pathOf(root, key);
      signal?.throwIfAborted();
      if (isFile(body)) return place(body.path, key);
      const unfinished = (await newFile?.()) ?? `${target}.${randomBytes(8).toString('hex')}${UNFINISHED}`;
      try {
        await inFolder(root, dirname(target), () => writeFlushed(unfinished, body));
        signal?.throwIfAborted();
        return await place(unfinished, key);
      } finally {
        await unlinkIfThere(unfinished).catch(() => {});
      }
    },
    async *list(prefix, options = {}) {
      checkPrefix(prefix);
      yield* listFolder(root, prefix, options);
    },
    async remove(keys, signal) {
      for (const key of keys) {
        signal?.throwIfAborted();
        await unlinkIfThere(pathOf(root, key));
      }
      // Buckets have no folders. One that is not empty stays.
      for (const folder of new Set(keys.map((key) => dirname(key)))) await removeEmpty(root, folder);
    },
  };
}

function pathOf(root: string, key: string): string {
  checkKey(key);
  return join(root, key);
}

/** What systems report if they have not made a name. Anything else may come from a network, after it was made. */
const REFUSALS = ['EACCES', 'EDQUOT', 'ELOOP', 'ENAMETOOLONG', 'ENOENT', 'ENOSPC', 'ENOTDIR', 'EROFS'];

function withoutLinks(cause: unknown): ServiceError {
  return new ServiceError('unavailable', 'The file system cannot give a file a second name.', {
    hint: 'Keep the frames on a file system with hard links, such as ext4, XFS or APFS.',
    cause,
  });
}

function notAFile(key: string): ServiceError {
  return new ServiceError('unavailable', `${quoted(key)} is not a file.`, {
    hint: 'Ask the operator to move it away.',
  });
}

function statIfThere(path: string, statOf = statSync): BigIntStats | undefined {
  try {
    return statOf(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if (hasCode(error, 'ENOTDIR')) return undefined;
    throw error;
  }
}

/** Does not follow links. */
const lstatIfThere = (path: string): BigIntStats | undefined => statIfThere(path, lstatSync);

/**
 * Identifies a file. A later one may get its inode, but not at the same time by the clock of the file system. The change time
 * would also change with the number of links.
 */
function tagOf({ ino, mtimeNs, size }: BigIntStats): string {
  return `${ino.toString(36)}-${mtimeNs.toString(36)}-${size.toString(36)}`;
}

/** Another process may remove an empty folder between two calls of this one. */
const FOLDER_ATTEMPTS = 5;

/** Runs work that creates a name in a folder, and creates the folder if it is missing. */
async function inFolder<T>(root: string, folder: string, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!hasCode(error, 'ENOENT') || attempt === FOLDER_ATTEMPTS) throw error;
      await makeDirectory(root);
      // The names are flushed before an object in the folder is acknowledged.
      await mkdir(folder, { recursive: true });
    }
  }
}

/** Flushes folders. Concurrent flushes of a folder are shared. */
function createFlush(): (folder: string) => Promise<void> {
  const flushes = new Map<string, { readonly sync: DirectorySync; users: number }>();
  return async (folder) => {
    const flush = flushes.get(folder) ?? { sync: createDirectorySync(folder), users: 0 };
    flushes.set(folder, flush);
    flush.users += 1;
    try {
      await flush.sync();
    } finally {
      flush.users -= 1;
      if (flush.users === 0) flushes.delete(folder);
    }
  };
}

/** A known folder costs some hundred bytes. */
const MAX_KNOWN_FOLDERS = 10_000;

/**
 * Flushes the name of a folder, and those of the folders around it. Another process may have made them and not have flushed
 * them yet, so only what this process has flushed is known to be durable.
 */
function createNameFlush(root: string, flush: (folder: string) => Promise<void>): (folder: string) => Promise<void> {
  const known = new Map<string, string>();
  return async function flushNames(folder) {
    if (folder === '.') return;
    const identity = identityOf(join(root, folder));
    if (identity !== undefined && known.get(folder) === identity) return;
    const parent = dirname(folder);
    await Promise.all([flush(join(root, parent)), flushNames(parent)]);
    if (known.size >= MAX_KNOWN_FOLDERS) known.clear();
    if (identity !== undefined) known.set(folder, identity);
  };
}

/** Tells a folder from one that is made in its place. Undefined: the file system does not keep what is needed. */
function identityOf(folder: string): string | undefined {
  const found = statIfThere(folder);
  return found === undefined || found.birthtimeNs === 0n ? undefined : `${found.ino} ${found.birthtimeNs}`;
}

const CHUNK_BYTES = 1024 * 1024;

/** Longer objects are read by other threads. */
const SHORT_BYTES = 64 * 1024;

/** Reads a short object. `long`: it is longer. */
function readShort(path: string, { range }: GetOptions): ObjectBody | 'long' | undefined {
  let file: number;
  try {
    file = openSync(path, NO_WAIT);
  } catch (error) {
    if (hasCode(error, ...NO_FILE)) return undefined;
    throw error;
  }
  try {
    const status = fstatSync(file, { bigint: true });
    if (!status.isFile()) return undefined;
    if (status.size > SHORT_BYTES) return 'long';
    const whole = Buffer.allocUnsafe(Number(status.size));
    const body = whole.subarray(0, readSync(file, whole, 0, whole.length, 0)).subarray(range?.start, range?.end);
    return { tag: tagOf(status), bytes: body.length, chunks: oneChunk(body), close: async () => {} };
  } finally {
    closeSync(file);
  }
}

async function* oneChunk(chunk: Uint8Array): AsyncIterable<Uint8Array> {
  if (chunk.length > 0) yield chunk;
}

/** Opening a FIFO would wait for its writer. */
const NO_WAIT = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** What systems report if there is no file with the name; the last two are those of sockets and missing devices. */
const NO_FILE = ['ENOENT', 'ENOTDIR', 'ENXIO', 'EOPNOTSUPP'];

async function openObject(path: string, options: GetOptions = {}): Promise<ObjectBody | undefined> {
  const { range, signal } = options;
  signal?.throwIfAborted();
  // Synchronous: the logs of many frames are read in a fifth of the time.
  const short = readShort(path, options);
  if (short !== 'long') return short;
  const file = await open(path, NO_WAIT).catch((error: unknown) => {
    if (hasCode(error, ...NO_FILE)) return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    const status = await file.stat({ bigint: true });
    if (status.isFile()) return bodyOf(file, status, range, signal);
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return undefined;
}

function bodyOf(
  file: FileHandle,
  status: BigIntStats,
  range: GetOptions['range'],
  signal: AbortSignal | undefined,
): ObjectBody {
  const size = Number(status.size);
  const start = Math.min(range?.start ?? 0, size);
  const end = Math.min(range?.end ?? size, size);
  const bytes = Math.max(end - start, 0);
  async function* read(): AsyncIterable<Uint8Array> {
    try {
      for (let at = start; at < end;) {
        signal?.throwIfAborted();
        const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - at)), {
          position: at,
        });
        if (bytesRead === 0) throw new Error('The file has become shorter.');
        yield buffer.subarray(0, bytesRead);
        at += bytesRead;
      }
    } finally {
      await file.close();
    }
  }
  return { tag: tagOf(status), bytes, chunks: read(), close: () => file.close() };
}

/** Synchronous, as a short log is. */
function entriesIn(folder: string): Dirent[] {
  for (let attempt = 1; ; attempt++) {
    try {
      return readdirSync(folder, { withFileTypes: true });
    } catch (error) {
      if (hasCode(error, 'ENOTDIR')) return [];
      if (!hasCode(error, 'ENOENT')) throw error;
      if (statIfThere(folder) === undefined) return [];
      // One entry vanished before the system told its type.
      if (attempt === FOLDER_ATTEMPTS) throw error;
    }
  }
}

/** Lists a folder and those in it, in the order of their keys. */
async function* listFolder(root: string, prefix: string, options: ListOptions): AsyncIterable<string> {
  const { after = '', signal } = options;
  signal?.throwIfAborted();
  const folder = join(root, prefix);
  const entries = entriesIn(folder);
  // The system may have others beside them, such as lost+found, which only root can read.
  const isListed = (entry: Dirent): boolean =>
    (entry.isDirectory() || isFileIn(folder, entry)) && isKey(`${prefix}${entry.name}`);
  const keys = entries.filter(isListed).map((entry) => `${prefix}${entry.name}${entry.isDirectory() ? '/' : ''}`);
  for (const key of keys.toSorted()) {
    if (!key.endsWith('/')) {
      if (key > after) yield key;
    } else if (key > after || after.startsWith(key)) {
      // All keys in the folder start with its key.
      yield* listFolder(root, key, options);
    }
  }
}

/** True for a file and for a link to one. */
function isFileIn(folder: string, entry: Dirent): boolean {
  return entry.isFile() || (entry.isSymbolicLink() && statIfThere(join(folder, entry.name))?.isFile() === true);
}

/** Removes a folder and its parents, as far as they are empty. */
async function removeEmpty(root: string, folder: string): Promise<void> {
  await sweep(join(root, folder));
  for (let path = folder; ; path = dirname(path)) {
    if (path === '.' || !(await removeIfEmpty(join(root, path)))) return;
  }
}

async function removeIfEmpty(folder: string): Promise<boolean> {
  try {
    await rmdir(folder);
    return true;
  } catch (error) {
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT', 'EBUSY', 'EPERM', 'EACCES')) throw error;
    return false;
  }
}

/** No create takes so long. */
const MAX_UNFINISHED_MS = 3_600_000;

/** Removes from a folder the unfinished files of processes that were killed. */
async function sweep(folder: string): Promise<void> {
  // Something was just removed: by the clock of the home it is now.
  const now = statIfThere(folder)?.mtimeMs ?? 0n;
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((one) => one.endsWith(UNFINISHED))) {
    const path = join(folder, name);
    const found = statIfThere(path);
    if (found?.isFile() === true && now - found.mtimeMs > MAX_UNFINISHED_MS) await unlinkIfThere(path).catch(() => {});
  }
}
