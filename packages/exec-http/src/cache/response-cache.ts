import type { RowBlock } from '@svc/frames/internal';
import { compressBytes } from '../compress.ts';
import { createByteLru } from './byte-lru.ts';
import type { CachedResponse } from './cached-response.ts';
import { createKeptRows, type RowWindow, type WantedBlocks } from './kept-rows.ts';
import { createSeenKeys } from './seen-keys.ts';

/**
 * An LRU cache of short response bodies, and of the rows in them. The rows of a version of a frame never change, so entries
 * never go stale.
 */
export interface ResponseCache {
  /** The size of all entries. */
  readonly bytes: number;
  /** How many lookups found a response, and how many did not. */
  readonly reads: { readonly hits: number; readonly misses: number };
  /** Returns a response that is cached, or whose rows are: those of `window`. */
  get(key: string, window?: RowWindow): CachedResponse | undefined;
  /**
   * Passes the chunks of a response through, and caches them at their end if the key was requested before and the
   * response is short. A response that is requested only once would evict others for nothing.
   */
  keeping(key: string, chunks: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void>;
  /** Returns the rows to read for `keepRows`, after a miss: those around a window, if they were requested before. */
  wantedRows(window: RowWindow): WantedBlocks | undefined;
  /** Caches the rows of `wantedRows`, and returns the response; undefined if they are too long. */
  keepRows(window: RowWindow, blocks: readonly RowBlock[] | undefined): CachedResponse | undefined;
}

/** The largest share of the cache that one response may take, up to `MAX_RESPONSE_BYTES`. */
const MAX_SHARE = 1 / 16;
const MAX_RESPONSE_BYTES = 1024 * 1024;
/** A response that can be made of kept rows saves little time, and takes their place: it is cached after this many requests. */
const MIN_REQUESTS = 16;

/** Creates a cache of at most `maxBytes`, which evicts the least recently used response first. */
export function createResponseCache(maxBytes: number): ResponseCache {
  const maxResponseBytes = Math.min(maxBytes * MAX_SHARE, MAX_RESPONSE_BYTES);
  const lru = createByteLru<CachedResponse | RowBlock>(maxBytes);
  const rows = createKeptRows({ lru, maxBytes, maxTableBytes: maxResponseBytes });
  const seenKeys = createSeenKeys();
  const reads = { hits: 0, misses: 0 };

  function keep(key: string, bytes: Uint8Array): CachedResponse {
    let packed: Promise<Uint8Array> | undefined;
    async function pack(): Promise<Uint8Array> {
      const gzipped = await compressBytes(bytes);
      lru.grow(key, response, gzipped.byteLength);
      return gzipped;
    }
    const response = { bytes, compressed: () => (packed ??= pack()) };
    lru.set(key, response, bytes.byteLength);
    return response;
  }

  async function* keepAll(key: string, chunks: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
    const seen: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      // Copy: the buffer of a chunk may be reused for the next one.
      if (bytes <= maxResponseBytes) seen.push(new Uint8Array(chunk));
      else seen.length = 0;
      yield chunk;
    }
    if (bytes <= maxResponseBytes) keep(key, joined(seen, bytes));
  }

  function found(key: string, window: RowWindow | undefined): CachedResponse | undefined {
    const whole = lru.get(key);
    if (whole !== undefined && 'compressed' in whole) return whole;
    const table = window && rows.table(window);
    if (table === undefined) return undefined;
    return seenKeys.add(key) >= MIN_REQUESTS ? keep(key, table) : uncached(table);
  }

  return {
    get bytes() {
      return lru.bytes;
    },
    reads,
    get(key, window) {
      const response = found(key, window);
      reads[response === undefined ? 'misses' : 'hits'] += 1;
      return response;
    },
    keeping: (key, chunks) => (seenKeys.add(key) > 0 ? keepAll(key, chunks) : chunks),
    wantedRows: (window) => rows.wanted(window),
    keepRows(window, blocks) {
      rows.keep(window, blocks);
      const table = rows.table(window);
      return table && uncached(table);
    },
  };
}

function uncached(bytes: Uint8Array): CachedResponse {
  return { bytes, compressed: () => compressBytes(bytes) };
}

/** Joins the chunks outside of Node's shared buffer pool: a cached slice would keep the whole pool in memory. */
function joined(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
