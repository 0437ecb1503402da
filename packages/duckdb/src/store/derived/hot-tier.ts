import type { OpenFrame } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { createFrameBytes, schemaBytes, selectColumns, sliceBatches } from '@svc/frames/columns';
import { createCacheBudget, createPinnedLru, type Pin } from '@svc/frames/streams';
import type { RecordBatch, Schema } from 'apache-arrow';

/** A frame in the course of loading. It counts against the budget from its first batch. */
export interface Filling<Key> {
  /** Adds a batch. If it does not fit, returns false and ends the filling. */
  add(batch: RecordBatch): Promise<boolean>;
  /** Call this after the last batch. */
  finish(): void;
  /** Makes a finished frame visible to readers. */
  keep(key: Key): void;
  /** Ends the filling, unless the frame is kept. */
  cancel(): void;
}

/** An LRU cache of frames in memory. Its size never exceeds the budget. */
export interface HotTier<Key extends object> {
  readonly usedBytes: number;
  /** The numbers of reads with and without their frame in memory. Readers count them. */
  readonly reads: { hits: number; misses: number };
  /** The number of frames. */
  count(): number;
  has(key: Key): boolean;
  /** True if a frame of this size fits into an empty tier, or if the size is not known. */
  mayHold(bytes: number | undefined): boolean;
  /** Opens a frame. It stays in memory and counts against the budget until it is closed. */
  open(key: Key): Pick<OpenFrame, 'read' | 'close'> | undefined;
  /** Starts to load a frame from disk. Returns undefined if it is cached, is being loaded, or does not fit. */
  fill(key: Key, schema: Schema, expectedBytes?: number): Filling<Key> | undefined;
  /** Starts to load a frame without a key yet. */
  fillNew(schema: Schema): Filling<Key> | undefined;
  /** Evicts a dropped or replaced frame. */
  remove(key: Key): void;
  /** Keeps a frame under another key. */
  move(from: Key, to: Key): void;
}

interface HotFrame {
  readonly schema: Schema;
  readonly batches: RecordBatch[];
}

/** Creates an empty tier of `maxBytes`. */
export function createHotTier<Key extends object>(maxBytes: number): HotTier<Key> {
  const lru = createPinnedLru<Key, HotFrame>({ budget: createCacheBudget(maxBytes) });
  const fillings = new Map<Key, Filling<Key>>();
  /** A frame of unknown size may turn out not to fit, so it may not evict more than half of the cache. */
  const unknownLimit = maxBytes / 2;

  const startFilling = (schema: Schema, limit: number, onEnd = () => {}): Filling<Key> =>
    createFilling(lru.create({ schema, batches: [] }), limit, onEnd);

  return {
    get usedBytes() {
      return lru.usedBytes;
    },
    reads: { hits: 0, misses: 0 },
    count: () => lru.count,
    has: (key) => lru.has(key),
    mayHold: (bytes = 0) => bytes <= maxBytes,
    open(key) {
      const pin = lru.pin(key);
      if (pin === undefined) return undefined;
      const frame = pin.value;
      return {
        read({ offset = 0, limit = Infinity, columns, signal } = {}) {
          const { schema, indices } = selectColumns(frame.schema, columns);
          return { schema, batches: sliceBatches(frame.batches, { schema, indices, offset, limit, signal }) };
        },
        close: () => pin.release(),
      };
    },
    fill(key, schema, expectedBytes = 0) {
      if (expectedBytes > maxBytes || maxBytes === 0 || lru.has(key) || fillings.has(key)) return undefined;
      const limit = expectedBytes === 0 ? unknownLimit : maxBytes;
      const filling = startFilling(schema, limit, () => fillings.delete(key));
      fillings.set(key, filling);
      return filling;
    },
    fillNew: (schema) => (maxBytes === 0 ? undefined : startFilling(schema, unknownLimit)),
    remove(key) {
      fillings.get(key)?.cancel();
      lru.remove(key);
    },
    move(from, to) {
      fillings.get(from)?.cancel();
      lru.move(from, to);
    },
  };
}

/** Loads a frame of at most `limit` bytes. */
function createFilling<Key>(frame: Pin<Key, HotFrame>, limit: number, onEnd: () => void): Filling<Key> {
  const { schema, batches } = frame.value;
  const counter = createFrameBytes();
  const pause = createYield();
  let bytes = schemaBytes(schema);
  let state: 'filling' | 'finished' | 'ended' = 'filling';

  function end(): void {
    if (state === 'ended') return;
    state = 'ended';
    frame.release();
    onEnd();
  }

  function fits(): boolean {
    if (state !== 'ended' && bytes <= limit && frame.resize(bytes)) return true;
    end();
    return false;
  }

  return {
    async add(batch) {
      if (state === 'ended') return false;
      await pause();
      if (batch.numRows > 0) {
        bytes += counter.add(batch);
        batches.push(batch);
      }
      return fits();
    },
    finish() {
      if (fits()) state = 'finished';
    },
    keep(key) {
      if (state === 'finished') frame.keep(key);
      end();
    },
    cancel: end,
  };
}
