import type { DecodedFile } from '../../files/frame-files.ts';

/**
 * An LRU cache of frames that do not fit into memory, decoded, in unnamed files. It takes at most half of the space that is
 * free without it: if others take space, it gives back its own.
 */
export interface DiskTier<Key extends object> {
  readonly usedBytes: number;
  /** The number of reads of frames that are not in memory, by whether their frame was here. Counted by readers. */
  readonly reads: { hits: number; misses: number };
  /** Opens a frame, which is evicted only if the disk becomes full: then its reads fail. */
  open(key: Key): OpenDecodedFrame | undefined;
  /** Adds a frame of about `expectedBytes`. Resolves with false if it does not fit or cannot be written. */
  fill(key: Key, expectedBytes: number, decode: DecodeFrame): Promise<boolean>;
  /** Evicts a frame that was dropped or replaced, or whose file cannot be read. */
  remove(key: Key): void;
  /** Keeps a frame under another key. */
  move(from: Key, to: Key): void;
  /** Evicts all frames, even those that are open. */
  clear(): void;
}

/** A frame that is held open. */
export interface OpenDecodedFrame extends Pick<DecodedFile, 'read'> {
  close(): void;
}

/** Writes a frame. `onSize` rejects if the frame takes too much space. */
export type DecodeFrame = (onSize: (bytes: number) => Promise<void>) => Promise<DecodedFile>;

/** Options of `createDiskTier`. */
export interface DiskTierOptions {
  /** The bytes of all files together. */
  readonly maxBytes: number;
  /** Returns the free space of the disk in bytes. */
  readonly freeBytes: () => Promise<number>;
  /** The space in bytes that stays free in any case. Default 0. */
  readonly minFreeBytes?: number | undefined;
  /** How long a frame is kept after its last use. Default 600 000. */
  readonly idleMs?: number;
}

/** Creates an empty tier. */
export function createDiskTier<Key extends object>(options: DiskTierOptions): DiskTier<Key> {
  const kept = createDecodedFiles<Key>(options);
  const filling = new Set<Key>();
  let checkTimer: NodeJS.Timeout | undefined;

  async function check(): Promise<void> {
    await kept.shrink();
    if (kept.count() > 0) return;
    clearInterval(checkTimer);
    checkTimer = undefined;
  }

  async function write(key: Key, expectedBytes: number, decode: DecodeFrame): Promise<boolean> {
    let taken = 0;
    try {
      if (!(await kept.makeRoom(expectedBytes))) return false;
      const file = await decode(async (bytes) => {
        const hasRoom = await kept.makeRoom(bytes - taken);
        if (!filling.has(key)) throw new Error('The frame is not needed any more.');
        if (!hasRoom) throw new Error('The frame does not fit.');
        kept.take(bytes - taken);
        taken = bytes;
      });
      if (filling.has(key)) {
        kept.add(key, file);
        taken = 0;
        checkTimer ??= setInterval(() => void check(), CHECK_MS).unref();
        return true;
      }
      await file.close();
    } catch {
      // The frame is read as before; if it is damaged, its next reader gets the error.
    } finally {
      kept.take(-taken);
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
      if (kept.has(key) || filling.has(key)) return false;
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
/** How often the free space is checked. */
const CHECK_MS = 1000;

interface DecodedFiles<Key> {
  readonly usedBytes: number;
  count(): number;
  has(key: Key): boolean;
  open(key: Key): OpenDecodedFrame | undefined;
  /** Evicts files without readers until this many bytes and one more file fit. Resolves with whether they do. */
  makeRoom(bytes: number): Promise<boolean>;
  /** Counts bytes of a file that is being written. */
  take(bytes: number): void;
  /** Keeps a file whose bytes are taken. */
  add(key: Key, file: DecodedFile): void;
  /** Evicts files, even those with readers, until the others fit into the space. */
  shrink(): Promise<void>;
  remove(key: Key): void;
  move(from: Key, to: Key): void;
  clear(): void;
}

interface Entry<Key> {
  key: Key;
  readonly file: DecodedFile;
  readers: number;
  state: 'kept' | 'removed' | 'closed';
  idleTimer?: NodeJS.Timeout;
}

function createDecodedFiles<Key>(options: DiskTierOptions): DecodedFiles<Key> {
  /** In LRU order. */
  const entries = new Map<Key, Entry<Key>>();
  let usedBytes = 0;

  function close(entry: Entry<Key>): void {
    if (entry.state === 'closed') return;
    entry.state = 'closed';
    usedBytes -= entry.file.bytes;
    // The file has no name: closing it frees its space, and a failure to close it loses nothing.
    entry.file.close().catch(() => undefined);
  }

  /** Removes a file. If it has readers, the last one closes it, unless it must be closed now. */
  function remove(key: Key, mustClose = false): void {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    entry.state = 'removed';
    clearTimeout(entry.idleTimer);
    if (mustClose || entry.readers === 0) close(entry);
  }

  function startTimer(entry: Entry<Key>): void {
    entry.idleTimer = setTimeout(() => remove(entry.key), options.idleMs ?? 600_000).unref();
  }

  return {
    get usedBytes() {
      return usedBytes;
    },
    count: () => entries.size,
    has: (key) => entries.has(key),
    open(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      clearTimeout(entry.idleTimer);
      return openEntry(entry, () => (entry.state === 'kept' ? startTimer(entry) : close(entry)));
    },
    async makeRoom(bytes) {
      const limit = await limitBytes(options, () => usedBytes);
      if (bytes > limit) return false;
      const isFull = (): boolean => usedBytes + bytes > limit || entries.size >= MAX_FILES;
      for (const [key, { readers }] of entries) {
        if (!isFull()) break;
        if (readers === 0) remove(key);
      }
      return !isFull();
    },
    take: (bytes) => void (usedBytes += bytes),
    add(key, file) {
      const entry: Entry<Key> = { key, file, readers: 0, state: 'kept' };
      entries.set(key, entry);
      startTimer(entry);
    },
    async shrink() {
      const limit = await limitBytes(options, () => usedBytes);
      for (const key of entries.keys()) {
        if (usedBytes <= limit) break;
        remove(key, true);
      }
    },
    remove: (key) => remove(key),
    move(from, to) {
      const entry = entries.get(from);
      if (entry === undefined) return;
      entries.delete(from);
      entries.set(to, entry);
      entry.key = to;
    },
    clear() {
      for (const key of entries.keys()) remove(key, true);
    },
  };
}

/** How many bytes the files may take: at most half of what is free without them. */
async function limitBytes(options: DiskTierOptions, usedBytes: () => number): Promise<number> {
  const { maxBytes, freeBytes, minFreeBytes = 0 } = options;
  const free = await freeBytes();
  return Math.min(maxBytes, (free + usedBytes() - minFreeBytes) / 2);
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
