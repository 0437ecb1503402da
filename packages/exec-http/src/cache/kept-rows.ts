import { jsonTableOf, type RowBlock } from '@svc/frames/internal';
import type { ByteLru } from './byte-lru.ts';
import type { CachedResponse } from './cached-response.ts';
import { createSeenKeys } from './seen-keys.ts';

/** Some rows of a frame as a JSON table. */
export interface RowWindow {
  /** Equal keys mean equal rows: the version of a frame, its columns, and how its values are written. */
  readonly key: string;
  readonly offset: number;
  /** The rows of the frame from `offset` on, at least one. */
  readonly rows: number;
  /** Whether the table has its query and columns. */
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

/**
 * Rows of JSON tables as text, in blocks. Clients that page through a frame rarely ask for the same window again, but
 * often for the same rows.
 */
export interface KeptRows {
  /** Returns a window whose rows are all kept, as a table. */
  table(window: RowWindow): Uint8Array<ArrayBuffer> | undefined;
  /** Returns the blocks to read and keep, if they were requested before and are not known to be too long. */
  wanted(window: RowWindow): WantedBlocks | undefined;
  /** Keeps the blocks of a window. Undefined: one of them is too long. */
  keep(window: RowWindow, blocks: readonly RowBlock[] | undefined): void;
}

/** The rows of a block: few enough for frames with many columns, and enough to find a window in a few lookups. */
const BLOCK_ROWS = 1024;
const MAX_BLOCK_BYTES = 512 * 1024;
const MAX_WINDOW_ROWS = 8 * BLOCK_ROWS;
/** In a full cache, every eighth window evicts others, so that reading more rows than fit costs little. */
const EVICTING_WINDOW = 8;
/** The share of its size from which on the cache is full. */
const FULL_SHARE = 0.9;

/** Stands for a block that is too long. */
const TOO_LONG: RowBlock = { head: new Uint8Array(0), bytes: new Uint8Array(0), ends: new Uint32Array(0) };

/** Where the kept rows are. */
export interface KeptRowsParts {
  readonly lru: ByteLru<CachedResponse | RowBlock>;
  /** The size of the LRU cache. */
  readonly maxBytes: number;
  /** The longest table to make of them. */
  readonly maxTableBytes: number;
}

/** Creates the kept rows of a cache. */
export function createKeptRows({ lru, maxBytes, maxTableBytes }: KeptRowsParts): KeptRows {
  const seenBlocks = createSeenKeys();
  let misses = 0;

  function blockOf(key: string): RowBlock | undefined {
    const found = lru.get(key);
    return found !== undefined && 'ends' in found ? found : undefined;
  }

  return {
    table(window) {
      if (window.rows > MAX_WINDOW_ROWS) return undefined;
      const blocks: RowBlock[] = [];
      for (const key of blockKeys(window)) {
        const found = blockOf(key);
        if (found === undefined || found === TOO_LONG) return undefined;
        blocks.push(found);
      }
      if (blocks.reduce((sum, { bytes }) => sum + bytes.length, 0) > maxTableBytes) return undefined;
      const { offset, rows, metadata, count } = window;
      return jsonTableOf(blocks, { from: offset % BLOCK_ROWS, rows, metadata, count });
    },
    wanted(window) {
      if (window.rows > MAX_WINDOW_ROWS || maxBytes === 0) return undefined;
      const keys = blockKeys(window);
      const kept = keys.map(blockOf);
      const wereSeen = keys.filter((_key, i) => kept[i] === undefined).map((key) => seenBlocks.add(key));
      if (wereSeen.length === 0 || wereSeen.includes(0) || kept.includes(TOO_LONG)) return undefined;
      if (lru.bytes > FULL_SHARE * maxBytes && misses++ % EVICTING_WINDOW !== 0) return undefined;
      const range = { offset: firstBlock(window) * BLOCK_ROWS, limit: keys.length * BLOCK_ROWS };
      return { range, blockRows: BLOCK_ROWS, maxBlockBytes: Math.min(MAX_BLOCK_BYTES, maxTableBytes) };
    },
    keep(window, blocks) {
      blockKeys(window).forEach((key, i) => {
        // Not a block that is kept: only another one of the window can be too long.
        const block = blocks === undefined ? (blockOf(key) ?? TOO_LONG) : blocks[i];
        if (block !== undefined) lru.set(key, block, sizeOf(block));
      });
    },
  };
}

function sizeOf({ head, bytes, ends }: RowBlock): number {
  return head.length + bytes.length + ends.byteLength;
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
