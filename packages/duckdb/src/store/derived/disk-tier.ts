import { type CacheBudget, createPinnedLru, type Pin, type PinnedLru } from '@svc/frames/streams';
import type { DecodedFile } from '../../files/frame-files.ts';

/**
 * An LRU cache of frames too large for memory, decoded, in unnamed files. It takes at most half of the space free without it:
 * if others take space, it gives back its own. Reads take 0.1 to 0.5 of the time from Parquet (`bench/larger-than-memory.js`).
 */
export interface DiskTier<Key extends object> {
  readonly usedBytes: number;
  /** The numbers of reads with and without their frame here. Readers count them. */
  readonly reads: { hits: number; misses: number };
  /** Opens a frame. It is evicted only if the disk becomes full: then its reads fail. */
  open(key: Key): OpenDecodedFrame | undefined;
  /** Adds a frame of about `expectedBytes`. Resolves with false if it does not fit or cannot be written. */
  fill(key: Key, expectedBytes: number, decode: DecodeFrame): Promise<boolean>;
  /** Evicts a dropped or replaced frame, or one with an unreadable file. */
  remove(key: Key): void;
  /** Keeps a frame under another key. */
  move(from: Key, to: Key): void;
  /** Evicts all frames, even open ones. */
  clear(): void;
}

/** An open frame. */
export interface OpenDecodedFrame extends Pick<DecodedFile, 'read'> {
  close(): void;
}

/** Writes a frame. `onSize` rejects if the frame takes too much space. */
export type DecodeFrame = (onSize: (bytes: number) => Promise<void>) => Promise<DecodedFile>;

/** Options of `createDiskTier`. */
export interface DiskTierOptions {
  /** The space of all derived files. */
  readonly budget: CacheBudget;
  /** Returns the free space of the disk in bytes. */
  readonly freeBytes: () => Promise<number>;
  /** The least free space in bytes. Default 0. */
  readonly minFreeBytes?: number | undefined;
  /** How long a frame is kept after its last use. Default 600 000. */
  readonly idleMs?: number;
}

/** Each frame holds a file open. */
const MAX_FILES = 64;
/** How often the free space is checked. */
const CHECK_MS = 1000;

interface Decoded {
  /** Undefined while it is written. */
  file?: DecodedFile;
}

/** Creates an empty tier. */
export function createDiskTier<Key extends object>(options: DiskTierOptions): DiskTier<Key> {
  const { budget, freeBytes, minFreeBytes = 0, idleMs = 600_000 } = options;
  /** Half of the space free without the files, when it was measured last. */
  let limit = 0;
  const lru: PinnedLru<Key, Decoded> = createPinnedLru<Key, Decoded>({
    budget,
    // Decoding ahead evicts no file of another kind.
    maxBytes: () => Math.min(limit, budget.maxBytes - (budget.usedBytes - lru.usedBytes)),
    maxCount: MAX_FILES,
    idleMs,
    // The file has no name: closing it frees its space, and a failure to close it loses nothing.
    dispose: ({ file }) => void file?.close().catch(() => undefined),
  });
  const filling = new Set<Key>();
  let checkTimer: NodeJS.Timeout | undefined;

  async function measure(): Promise<void> {
    limit = ((await freeBytes()) + lru.usedBytes - minFreeBytes) / 2;
  }

  async function check(): Promise<void> {
    await measure();
    lru.evict(() => lru.usedBytes <= limit, true);
    if (lru.count > 0) return;
    clearInterval(checkTimer);
    checkTimer = undefined;
  }

  async function write(key: Key, pin: Pin<Key, Decoded>, expectedBytes: number, decode: DecodeFrame): Promise<boolean> {
    const take = async (bytes: number): Promise<boolean> => {
      await measure();
      return pin.resize(bytes);
    };
    // Makes room. It counts with what it takes, as it grows.
    if (!(await take(expectedBytes))) return false;
    pin.resize(0);
    const file = await decode(async (bytes) => {
      const fits = await take(bytes);
      if (!filling.has(key)) throw new Error('The frame is not needed any more.');
      if (!fits) throw new Error('The frame does not fit.');
    });
    pin.value.file = file;
    if (!filling.has(key) || !pin.resize(file.bytes)) return false;
    pin.keep(key);
    checkTimer ??= setInterval(() => void check(), CHECK_MS).unref();
    return true;
  }

  return {
    get usedBytes() {
      return lru.usedBytes;
    },
    reads: { hits: 0, misses: 0 },
    open(key) {
      const pin = lru.pin(key);
      const file = pin?.value.file;
      return pin && file && { read: (part) => file.read(part), close: () => pin.release() };
    },
    async fill(key, expectedBytes, decode) {
      if (lru.has(key) || filling.has(key)) return false;
      filling.add(key);
      const pin = lru.create({});
      try {
        return await write(key, pin, expectedBytes, decode);
      } catch {
        // The frame is read as before; if it is damaged, its next reader gets the error.
        return false;
      } finally {
        pin.release();
        filling.delete(key);
      }
    },
    remove(key) {
      filling.delete(key);
      lru.remove(key);
    },
    move(from, to) {
      filling.delete(from);
      lru.move(from, to);
    },
    clear() {
      filling.clear();
      lru.evict(() => false, true);
    },
  };
}
