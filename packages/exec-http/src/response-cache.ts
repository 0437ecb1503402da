import { compressBytes } from './compress.ts';

/** A cached response body. */
export interface CachedResponse {
  readonly bytes: Uint8Array;
  /** The body with gzip, compressed on first use. */
  compressed(): Promise<Uint8Array>;
}

/** An LRU cache of short response bodies. The rows of a version of a frame never change, so entries never go stale. */
export interface ResponseCache {
  /** The size of all entries. */
  readonly bytes: number;
  /** How many lookups found a response, and how many did not. */
  readonly reads: { readonly hits: number; readonly misses: number };
  get(key: string): CachedResponse | undefined;
  /**
   * Passes the chunks of a response through, and caches them at their end if the key was requested before and the
   * response is short. A response that is requested only once would evict others for nothing.
   */
  keeping(key: string, chunks: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void>;
}

/** The largest share of the cache that one response may take, up to `MAX_RESPONSE_BYTES`. */
const MAX_SHARE = 1 / 16;
const MAX_RESPONSE_BYTES = 1024 * 1024;
/** The estimated size of a cache entry without its key and bytes. */
const OVERHEAD_BYTES = 1024;
/** The size of the table of requested keys. */
const HASHES = 4096;
/** Keys count too: one may name many columns while its response has no rows. */
const KEY_CHARACTER_BYTES = 2;

/** Creates a cache of at most `maxBytes`, which evicts the least recently used response first. */
export function createResponseCache(maxBytes: number): ResponseCache {
  const maxResponseBytes = Math.min(maxBytes * MAX_SHARE, MAX_RESPONSE_BYTES);
  const entries = new Map<string, CachedResponse & { size: number }>();
  const seenKeys = createSeenKeys();
  let total = 0;
  const reads = { hits: 0, misses: 0 };

  function remove(key: string): void {
    total -= entries.get(key)?.size ?? 0;
    entries.delete(key);
  }

  function evict(): void {
    for (const key of entries.keys()) {
      if (total <= maxBytes) return;
      remove(key);
    }
  }

  function keep(key: string, bytes: Uint8Array): void {
    remove(key);
    let packed: Promise<Uint8Array> | undefined;
    const response = {
      bytes,
      size: bytes.byteLength + KEY_CHARACTER_BYTES * key.length + OVERHEAD_BYTES,
      compressed: () => (packed ??= pack()),
    };
    async function pack(): Promise<Uint8Array> {
      const gzipped = await compressBytes(bytes);
      if (entries.get(key) !== response) return gzipped;
      response.size += gzipped.byteLength;
      total += gzipped.byteLength;
      evict();
      return gzipped;
    }
    entries.set(key, response);
    total += response.size;
    evict();
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

  return {
    get bytes() {
      return total;
    },
    reads,
    get(key) {
      const response = entries.get(key);
      reads[response === undefined ? 'misses' : 'hits'] += 1;
      if (response === undefined) return undefined;
      entries.delete(key);
      entries.set(key, response);
      return response;
    },
    keeping: (key, chunks) => (seenKeys.add(key) ? keepAll(key, chunks) : chunks),
  };
}

/** Remembers recently added keys, approximately. */
interface SeenKeys {
  /** Adds a key. Returns whether it was already there. */
  add(key: string): boolean;
}

/**
 * A fixed table of key hashes: it needs no memory per key, and a collision merely caches a response too early or too
 * late.
 */
function createSeenKeys(): SeenKeys {
  const hashes = new Int32Array(HASHES);
  return {
    add(key) {
      let hash = 0;
      for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0;
      const slot = (hash ^ (hash >>> 16)) & (HASHES - 1);
      const isThere = hashes[slot] === hash;
      hashes[slot] = hash;
      return isThere;
    },
  };
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
