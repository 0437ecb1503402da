import type { OpenFrame } from '@svc/frames';
import type { RecordBatch, Schema } from 'apache-arrow';
import { createHotFrame, type HotFrame } from './hot-frame.ts';

/** A frame that is being loaded into memory. It counts against the budget from its first batch. */
export interface Filling<Key> {
  /** Adds a batch. Returns false if it does not fit, which ends the filling. */
  add(batch: RecordBatch): Promise<boolean>;
  /** Call this after the last batch. */
  finish(): Promise<void>;
  /** Makes a finished frame visible to readers. */
  keep(key: Key): void;
  /** Ends the filling, unless the frame is kept. */
  cancel(): void;
}

/** An LRU cache of frames in memory. Its size never exceeds the budget. */
export interface HotTier<Key extends object> {
  readonly usedBytes: number;
  /** The number of reads, by whether their frame was in memory. Counted by readers. */
  readonly reads: { hits: number; misses: number };
  /** The number of frames. */
  count(): number;
  has(key: Key): boolean;
  /** Whether a frame of this size fits into an empty tier. True if its size is not known. */
  mayHold(bytes: number | undefined): boolean;
  /** Opens a frame, which stays in memory and counts against the budget until it is closed. */
  open(key: Key): Pick<OpenFrame, 'read' | 'close'> | undefined;
  /** Starts to load a frame from disk. Returns undefined if it is cached, is being loaded, or does not fit. */
  fill(key: Key, schema: Schema, expectedBytes?: number): Filling<Key> | undefined;
  /** Starts to load a frame that has no key yet. */
  fillNew(schema: Schema): Filling<Key> | undefined;
  /** Evicts a frame that was dropped or replaced. */
  remove(key: Key): void;
  /** Keeps a frame under another key. */
  move(from: Key, to: Key): void;
}

interface HotEntry {
  readonly frame: OpenFrame;
  readonly bytes: number;
  readers: number;
  isCached: boolean;
}

/** Creates an empty tier of `maxBytes`. */
export function createHotTier<Key extends object>(maxBytes: number): HotTier<Key> {
  /** In LRU order. */
  const entries = new Map<Key, HotEntry>();
  const fillings = new Map<Key, Filling<Key>>();
  let usedBytes = 0;

  const budget: Budget = {
    take(bytes) {
      if (bytes > maxBytes) return false;
      for (const [key, { readers }] of entries) {
        if (usedBytes + bytes <= maxBytes) break;
        if (readers === 0) removeEntry(key);
      }
      if (usedBytes + bytes > maxBytes) return false;
      usedBytes += bytes;
      return true;
    },
    free(bytes) {
      usedBytes -= bytes;
    },
  };

  function removeEntry(key: Key): void {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    entry.isCached = false;
    // If there are readers, the last one frees the bytes.
    if (entry.readers === 0) budget.free(entry.bytes);
  }

  const keep = (key: Key, frame: OpenFrame, bytes: number): void =>
    void entries.set(key, { frame, bytes, readers: 0, isCached: true });

  return {
    get usedBytes() {
      return usedBytes;
    },
    reads: { hits: 0, misses: 0 },
    count: () => entries.size,
    has: (key) => entries.has(key),
    mayHold: (bytes = 0) => bytes <= maxBytes,
    open(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return openEntry(entry, budget);
    },
    fill(key, schema, expectedBytes = 0) {
      if (expectedBytes > maxBytes || maxBytes === 0 || entries.has(key) || fillings.has(key)) return undefined;
      const limit = expectedBytes === 0 ? maxBytes / 2 : maxBytes;
      const filling = createFilling({ schema, limit, budget, keep, onEnd: () => fillings.delete(key) });
      fillings.set(key, filling);
      return filling;
    },
    // A frame of unknown size may turn out not to fit, so it may not evict more than half of the cache.
    fillNew: (schema) => (maxBytes === 0 ? undefined : createFilling({ schema, limit: maxBytes / 2, budget, keep })),
    remove(key) {
      fillings.get(key)?.cancel();
      removeEntry(key);
    },
    move(from, to) {
      fillings.get(from)?.cancel();
      const entry = entries.get(from);
      if (entry === undefined) return;
      entries.delete(from);
      entries.set(to, entry);
    },
  };
}

function openEntry(entry: HotEntry, budget: Budget): Pick<OpenFrame, 'read' | 'close'> {
  entry.readers += 1;
  return {
    read: (options) => entry.frame.read(options),
    close() {
      entry.readers -= 1;
      if (entry.readers === 0 && !entry.isCached) budget.free(entry.bytes);
    },
  };
}

interface Budget {
  /** Reserves bytes, and evicts frames if needed. Returns false if that does not free enough. */
  take(bytes: number): boolean;
  free(bytes: number): void;
}

interface FillingParts<Key> {
  readonly schema: Schema;
  /** The most bytes that the frame may take. */
  readonly limit: number;
  readonly budget: Budget;
  readonly keep: (key: Key, frame: OpenFrame, bytes: number) => void;
  /** Default: none. */
  readonly onEnd?: () => void;
}

function createFilling<Key>({ schema, limit, budget, keep, onEnd = () => {} }: FillingParts<Key>): Filling<Key> {
  let hot: HotFrame | undefined = createHotFrame(schema);
  let finished: OpenFrame | undefined;
  let taken = 0;

  function cancel(): void {
    if (hot === undefined) return;
    hot.abandon();
    hot = undefined;
    budget.free(taken);
    onEnd();
  }

  function take(bytes: number): boolean {
    if (hot === undefined) return false;
    if (bytes <= limit && budget.take(bytes - taken)) {
      taken = bytes;
      return true;
    }
    cancel();
    return false;
  }

  return {
    add: async (batch) => hot !== undefined && take(await hot.add(batch)),
    async finish() {
      const frame = await hot?.finish();
      if (frame !== undefined && take(frame.info.bytes)) finished = frame;
    },
    keep(key) {
      if (hot === undefined || finished === undefined) return;
      hot = undefined;
      keep(key, finished, taken);
      onEnd();
    },
    cancel,
  };
}
