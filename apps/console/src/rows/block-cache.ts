import type { CellBlock } from './cell-block.ts';

/** An LRU cache of blocks, limited by their number and their bytes. */
export interface BlockCache {
  get(key: string): CellBlock | undefined;
  set(key: string, block: CellBlock): void;
  /** Marks a block as used. */
  touch(key: string): void;
  clear(): void;
}

/** Creates a cache. The block that was set last always stays. */
export function createBlockCache({ maxBlocks, maxBytes }: { maxBlocks: number; maxBytes: number }): BlockCache {
  const blocks = new Map<string, CellBlock>();
  let bytes = 0;
  return {
    get: (key) => blocks.get(key),
    set(key, block) {
      bytes += block.bytes - (blocks.get(key)?.bytes ?? 0);
      blocks.delete(key);
      blocks.set(key, block);
      for (const [oldest, { bytes: freed }] of blocks) {
        if (blocks.size === 1 || (blocks.size <= maxBlocks && bytes <= maxBytes)) break;
        blocks.delete(oldest);
        bytes -= freed;
      }
    },
    touch(key) {
      const block = blocks.get(key);
      if (block === undefined) return;
      blocks.delete(key);
      blocks.set(key, block);
    },
    clear() {
      blocks.clear();
      bytes = 0;
    },
  };
}
