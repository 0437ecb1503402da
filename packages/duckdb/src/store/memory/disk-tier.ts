import { statfs } from 'node:fs/promises';
import type { DecodedFile } from '../../files/frame-files.ts';

/**
 * An LRU cache of frames that do not fit into memory, decoded, in unnamed files. It takes at most half of the space that is
 * free when a frame is added.
 */
export interface DiskTier<Key extends object> {
  readonly usedBytes: number;
  /** The number of reads of frames that are not in memory, by whether their frame was here. Counted by readers. */
  readonly reads: { hits: number; misses: number };
  /** Opens a frame, which stays on disk until it is closed. */
  open(key: Key): OpenDecodedFrame | undefined;
  /** Adds a frame of about `expectedBytes`. Resolves with false if it does not fit or cannot be written. */
  fill(key: Key, expectedBytes: number, decode: DecodeFrame): Promise<boolean>;
  /** Evicts a frame that was dropped or replaced, or whose file cannot be read. */
  remove(key: Key): void;
  /** Keeps a frame under another key. */
  move(from: Key, to: Key): void;
  /** Evicts all frames. */
  clear(): void;
}

/** A frame that is held open. */
export interface OpenDecodedFrame extends Pick<DecodedFile, 'read'> {
  close(): void;
}

/** Writes a frame. `onSize` throws if the frame takes too much space. */
export type DecodeFrame = (onSize: (bytes: number) => void) => Promise<DecodedFile>;

/** Options of `createDiskTier`. */
export interface DiskTierOptions {
  /** The bytes of all files together. */
  readonly maxBytes: number;
  /** The directory of the files. */
  readonly directory: string;
  /** The space in bytes that stays free in any case. Default 0. */
  readonly minFreeBytes?: number | undefined;
  /** How long a frame is kept after its last use. Default 600 000. */
  readonly idleMs?: number;
}

/** Creates an empty tier. */
export function createDiskTier<Key extends object>(options: DiskTierOptions): DiskTier<Key> {
  const kept = createDecodedFiles<Key>(options);
  const filling = new Set<Key>();

  async function write(key: Key, expectedBytes: number, decode: DecodeFrame): Promise<boolean> {
    let taken = 0;
    try {
      if (!(await hasSpace(options, expectedBytes))) return false;
      const file = await decode((bytes) => {
        if (!filling.has(key)) throw new Error('The frame is not needed any more.');
        if (!kept.take(bytes - taken)) throw new Error('The frame does not fit.');
        taken = bytes;
      });
      if (filling.has(key)) {
        kept.add(key, file);
        taken = 0;
        return true;
      }
      await file.close();
    } catch {
      // The frame is read as before; if it is damaged, its next reader gets the error.
    } finally {
      kept.free(taken);
    }
    return false;
  }

  return {
    get usedBytes() {
      return kept.usedBytes;
    },
    reads: { hits: 0, misses: 0 },
    open: (key) => kept.open(key),
    async fill(key, expectedBytes, decode) {
      if (kept.has(key) || filling.has(key) || !kept.makeRoom(expectedBytes)) return false;
      filling.add(key);
      try {
        return await write(key, expectedBytes, decode);
      } finally {
        filling.delete(key);
      }
    },
    remove(key) {
      filling.delete(key);
      kept.remove(key);
    },
    move(from, to) {
      filling.delete(from);
      kept.move(from, to);
    },
    clear() {
      filling.clear();
      kept.clear();
    },
  };
}

/** Each frame holds a file open. */
const MAX_FILES = 64;

interface DecodedFiles<Key> {
  readonly usedBytes: number;
  has(key: Key): boolean;
  open(key: Key): OpenDecodedFrame | undefined;
  /** Evicts files without readers until this many bytes and one more file fit. Returns whether they do. */
  makeRoom(bytes: number): boolean;
  /** Reserves bytes for a file that is being written. Returns false if they do not fit. */
  take(bytes: number): boolean;
  /** Gives back bytes of a file that is not kept. */
  free(bytes: number): void;
  /** Keeps a file whose bytes are taken. */
  add(key: Key, file: DecodedFile): void;
  remove(key: Key): void;
  move(from: Key, to: Key): void;
  clear(): void;
}

interface Entry<Key> {
  key: Key;
  readonly file: DecodedFile;
  readers: number;
  isKept: boolean;
  idleTimer?: NodeJS.Timeout;
}

function createDecodedFiles<Key>({ maxBytes, idleMs = 600_000 }: DiskTierOptions): DecodedFiles<Key> {
  /** In LRU order. */
  const entries = new Map<Key, Entry<Key>>();
  let usedBytes = 0;

  function close({ file }: Entry<Key>): void {
    usedBytes -= file.bytes;
    // The file has no name: closing it frees its space, and a failure to close it loses nothing.
    file.close().catch(() => undefined);
  }

  function remove(key: Key): void {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    entry.isKept = false;
    clearTimeout(entry.idleTimer);
    // If there are readers, the last one closes the file.
    if (entry.readers === 0) close(entry);
  }

  function startTimer(entry: Entry<Key>): void {
    entry.idleTimer = setTimeout(() => remove(entry.key), idleMs).unref();
  }

  function makeRoom(bytes: number): boolean {
    if (bytes > maxBytes) return false;
    const isFull = (): boolean => usedBytes + bytes > maxBytes || entries.size >= MAX_FILES;
    for (const [key, { readers }] of entries) {
      if (!isFull()) break;
      if (readers === 0) remove(key);
    }
    return !isFull();
  }

  return {
    get usedBytes() {
      return usedBytes;
    },
    has: (key) => entries.has(key),
    open(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      clearTimeout(entry.idleTimer);
      return openEntry(entry, () => (entry.isKept ? startTimer(entry) : close(entry)));
    },
    makeRoom,
    take(bytes) {
      if (!makeRoom(bytes)) return false;
      usedBytes += bytes;
      return true;
    },
    free: (bytes) => void (usedBytes -= bytes),
    add(key, file) {
      const entry: Entry<Key> = { key, file, readers: 0, isKept: true };
      entries.set(key, entry);
      startTimer(entry);
    },
    remove,
    move(from, to) {
      const entry = entries.get(from);
      if (entry === undefined) return;
      entries.delete(from);
      entries.set(to, entry);
      entry.key = to;
    },
    clear() {
      for (const key of entries.keys()) remove(key);
    },
  };
}

function openEntry<Key>(entry: Entry<Key>, onLastClose: () => void): OpenDecodedFrame {
  entry.readers += 1;
  return {
    read: (part) => entry.file.read(part),
    close() {
      entry.readers -= 1;
      if (entry.readers === 0) onLastClose();
    },
  };
}

/** The types of file systems that are memory, as Linux numbers them. */
const MEMORY_TYPES: ReadonlySet<number> = new Set([0x01021994, 0x858458f6]);

/** Whether a file of this size leaves enough space. */
async function hasSpace({ directory, minFreeBytes = 0 }: DiskTierOptions, bytes: number): Promise<boolean> {
  const { type, bavail, bsize } = await statfs(directory);
  return !MEMORY_TYPES.has(type) && bytes <= (bavail * bsize - minFreeBytes) / 2;
}
