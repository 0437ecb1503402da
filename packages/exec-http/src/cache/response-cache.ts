import { jsonTableOf, type RowBlock } from '@svc/frames/json';
import { createCacheBudget, createPinnedLru } from '@svc/frames/streams';
import { compressBytes } from '../response/compress.ts';

/**
 * An LRU cache of short responses, and of rows of JSON tables as text: clients page through a frame in changing windows of the
 * same rows. The rows of a version of a frame never change, so entries never go stale.
 *
 * Of the CPU time without it, 1000 rows as JSON take a seventh (`bench/one-core.js`). The same response again takes a sixth as
 * CSV or with gzip; as plain JSON it gains little over its rows.
 */
export interface ResponseCache {
  /** The size of all entries. */
  readonly bytes: number;
  /** How many lookups found a response, and how many did not. */
  readonly reads: { readonly hits: number; readonly misses: number };
  /** Returns a cached response, or one made of the cached rows of `window`. */
  get(key: string, window?: RowWindow): CachedResponse | undefined;
  /**
   * Passes the chunks of a response through, and caches them at their end if the key was requested before and the
   * response is short. A response requested only once would evict others for nothing.
   */
  keeping(key: string, chunks: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void>;
  /** Returns the blocks to read for `keepRows`, after a miss: those around a window, if they were requested before. */
  wantedRows(window: RowWindow): WantedBlocks | undefined;
  /** Caches the blocks of `wantedRows`, and returns the response. Undefined: one of them is too long. */
  keepRows(window: RowWindow, blocks: readonly RowBlock[] | undefined): CachedResponse | undefined;
}

/** A cached response body. */
export interface CachedResponse {
  readonly bytes: Uint8Array;
  /** The body with gzip, compressed on first use. */
  compressed(): Promise<Uint8Array>;
}

/** Some rows of a frame as a JSON table. */
export interface RowWindow {
  /** Equal keys mean equal rows: the version of a frame, its columns, and how its values are written. */
  readonly key: string;
  readonly offset: number;
  /** The rows of the frame from `offset` on, at least one. */
  readonly rows: number;
  /** True if the table has its query and columns. */
  readonly metadata: boolean;
  /** The `count` of the table. */
  readonly count: number;
}

/** The blocks to read and keep. */
export interface WantedBlocks {
  /** Their rows. */
  readonly range: { readonly offset: number; readonly limit: number };
  readonly blockRows: number;
  readonly maxBlockBytes: number;
}

/** The largest response, as a share of the cache, up to `MAX_RESPONSE_BYTES`. */
const MAX_SHARE = 1 / 16;
const MAX_RESPONSE_BYTES = 1024 * 1024;
/** If a response can be made of kept rows, it takes their place: it is cached only after this many requests. */
const MIN_REQUESTS = 16;

/** The rows of a block: few enough for frames with many columns, and enough to find a window in a few lookups. */
const BLOCK_ROWS = 1024;
const MAX_BLOCK_BYTES = 512 * 1024;
const MAX_WINDOW_ROWS = 8 * BLOCK_ROWS;
/** In a full cache, every eighth window evicts others, so reading more rows than fit costs little. */
const EVICTING_WINDOW = 8;
/** From this share of its size on, the cache is full. */
const FULL_SHARE = 0.9;
/** Stands for an overlong block. */
const TOO_LONG: RowBlock = { head: new Uint8Array(0), bytes: new Uint8Array(0), ends: new Uint32Array(0) };

/** The estimated size of an entry without its key and its own bytes. */
const OVERHEAD_BYTES = 1024;
/** Keys count too: one may name many columns while its response has no rows. */
const KEY_CHARACTER_BYTES = 2;

/** Creates a cache of at most `maxBytes`. */
export function createResponseCache(maxBytes: number): ResponseCache {
  const maxResponseBytes = Math.min(maxBytes * MAX_SHARE, MAX_RESPONSE_BYTES);
  const lru = createPinnedLru<string, CachedResponse | RowBlock>({ budget: createCacheBudget(maxBytes) });
  const seenKeys = createSeenKeys();
  const seenBlocks = createSeenKeys();
  const reads = { hits: 0, misses: 0 };
  let misses = 0;

  const set = (key: string, value: CachedResponse | RowBlock, bytes: number): boolean =>
    lru.set(key, value, bytes + KEY_CHARACTER_BYTES * key.length + OVERHEAD_BYTES);

  function keep(key: string, bytes: Uint8Array): CachedResponse {
    let packed: Promise<Uint8Array> | undefined;
    async function pack(): Promise<Uint8Array> {
      const gzipped = await compressBytes(bytes);
      if (lru.get(key) === response) set(key, response, bytes.byteLength + gzipped.byteLength);
      return gzipped;
    }
    const response = { bytes, compressed: () => (packed ??= pack()) };
    set(key, response, bytes.byteLength);
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

  function blockOf(key: string): RowBlock | undefined {
    const found = lru.get(key);
    return found !== undefined && 'ends' in found ? found : undefined;
  }

  /** Makes a table of blocks, if all of a window are kept. */
  function tableOf(window: RowWindow): Uint8Array<ArrayBuffer> | undefined {
    if (window.rows > MAX_WINDOW_ROWS) return undefined;
    const blocks: RowBlock[] = [];
    let bytes = 0;
    for (const key of blockKeys(window)) {
      const block = blockOf(key);
      if (block === undefined || block === TOO_LONG) return undefined;
      blocks.push(block);
      bytes += block.bytes.length;
    }
    if (bytes > maxResponseBytes) return undefined;
    const { offset, rows, metadata, count } = window;
    return jsonTableOf(blocks, { from: offset % BLOCK_ROWS, rows, metadata, count });
  }

  function find(key: string, window: RowWindow | undefined): CachedResponse | undefined {
    const whole = lru.get(key);
    if (whole !== undefined && 'compressed' in whole) return whole;
    const table = window && tableOf(window);
    if (table === undefined) return undefined;
    return seenKeys.add(key) >= MIN_REQUESTS ? keep(key, table) : uncached(table);
  }

  return {
    get bytes() {
      return lru.usedBytes;
    },
    reads,
    get(key, window) {
      const response = find(key, window);
      reads[response === undefined ? 'misses' : 'hits'] += 1;
      return response;
    },
    keeping: (key, chunks) => (seenKeys.add(key) > 0 ? keepAll(key, chunks) : chunks),
    wantedRows(window) {
      if (window.rows > MAX_WINDOW_ROWS || maxBytes === 0) return undefined;
      const keys = blockKeys(window);
      const kept = keys.map(blockOf);
      const wereSeen = keys.filter((_key, i) => kept[i] === undefined).map((key) => seenBlocks.add(key));
      if (wereSeen.length === 0 || wereSeen.includes(0) || kept.includes(TOO_LONG)) return undefined;
      if (lru.usedBytes > FULL_SHARE * maxBytes && misses++ % EVICTING_WINDOW !== 0) return undefined;
      const range = { offset: firstBlock(window) * BLOCK_ROWS, limit: keys.length * BLOCK_ROWS };
      return { range, blockRows: BLOCK_ROWS, maxBlockBytes: Math.min(MAX_BLOCK_BYTES, maxResponseBytes) };
    },
    keepRows(window, blocks) {
      blockKeys(window).forEach((key, i) => {
        // Only a block without an entry can be too long.
        const block = blocks === undefined ? (blockOf(key) ?? TOO_LONG) : blocks[i];
        if (block !== undefined) set(key, block, block.head.length + block.bytes.length + block.ends.byteLength);
      });
      const table = tableOf(window);
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

function firstBlock({ offset }: RowWindow): number {
  return Math.floor(offset / BLOCK_ROWS);
}

function blockKeys(window: RowWindow): readonly string[] {
  const { key, offset, rows } = window;
  const keys: string[] = [];
  for (let i = firstBlock(window); i * BLOCK_ROWS < offset + rows; i++) keys.push(`${i} ${key}`);
  return keys;
}

/** The number of remembered keys. */
const HASHES = 16_384;

/**
 * Remembers recently added keys in a fixed table of their hashes. A collision merely caches a response too early or too late.
 * `add` returns how often a key was added before, up to 255.
 */
function createSeenKeys(): { add(key: string): number } {
  const hashes = new Int32Array(HASHES);
  const counts = new Uint8ClampedArray(HASHES);
  return {
    add(key) {
      let hash = 0;
      for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0;
      const slot = (hash ^ (hash >>> 16)) & (HASHES - 1);
      const before = hashes[slot] === hash ? (counts[slot] ?? 0) : 0;
      hashes[slot] = hash;
      counts[slot] = before + 1;
      return before;
    },
  };
}
