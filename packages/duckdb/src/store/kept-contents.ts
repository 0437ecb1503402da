import { schemaBytes } from '@svc/frames/internal';
import type { FrameContents, StoredFrame } from './catalogue/stored-frame.ts';

/**
 * The descriptions of frames in memory, within a budget: the least recently used go first, and are read from their files
 * again when they are needed. Without it, a few hundred frames of 10,000 columns would fill the memory of the process.
 */
export interface KeptContents {
  /** Keeps the description of a frame as the most recently used one. */
  keep(frame: StoredFrame, contents: FrameContents): void;
  /** Call this with a frame that was replaced, was dropped or has expired. */
  remove(frame: StoredFrame): void;
}

/** About half a million columns. */
const MAX_BYTES = 256 * 1024 * 1024;

/** Creates an empty set of descriptions. */
export function createKeptContents(maxBytes = MAX_BYTES): KeptContents {
  /** In LRU order. */
  const sizes = new Map<StoredFrame, number>();
  let usedBytes = 0;

  function remove(frame: StoredFrame): void {
    usedBytes -= sizes.get(frame) ?? 0;
    sizes.delete(frame);
  }

  return {
    keep(frame, contents) {
      const bytes = sizes.get(frame) ?? schemaBytes(contents.schema);
      remove(frame);
      frame.contents = contents;
      frame.fileBytes = contents.fileBytes;
      sizes.set(frame, bytes);
      usedBytes += bytes;
      for (const oldest of sizes.keys()) {
        if (usedBytes <= maxBytes || oldest === frame) return;
        remove(oldest);
        oldest.contents = undefined;
        oldest.isForgotten = true;
      }
    },
    remove,
  };
}
