import type { Catalogue } from '../catalogue/catalogue.ts';
import type { FrameStream } from '@svc/frames';
import type { HotTier } from './hot-tier.ts';
import type { FrameContents, StoredFrame } from '../catalogue/stored-frame.ts';

/** Takes frames into memory of which parts are read again and again. */
export interface FrameWarmer {
  /** Hears of a part that was read from disk. */
  partRead(frame: StoredFrame, contents: FrameContents, rows: number): void;
  /** Stops what it is doing. */
  close(): Promise<void>;
}

/** To begin a read costs as much as so many rows. */
const READ_ROWS = 50_000;

/**
 * A warmer that reads a frame when the parts of it that were read before have cost as much as the whole would have:
 * whatever is read next, it was about twice the work at the most. One frame at a time.
 */
export function createFrameWarmer({
  read,
  hot,
  catalogue,
}: {
  /** Reads all rows of a frame. */
  readonly read: (frame: StoredFrame, contents: FrameContents, signal: AbortSignal) => FrameStream;
  readonly hot: HotTier<StoredFrame>;
  readonly catalogue: Pick<Catalogue, 'acquire' | 'release'>;
}): FrameWarmer {
  const rowsRead = new WeakMap<StoredFrame, number>();
  const closing = new AbortController();
  let warming: Promise<void> | undefined;

  async function warm(frame: StoredFrame, contents: FrameContents): Promise<void> {
    const filling = hot.fill(frame, contents.schema, contents.arrowBytes);
    if (filling === undefined) return;
    catalogue.acquire(frame);
    try {
      for await (const batch of read(frame, contents, closing.signal).batches) {
        if (await filling.add(batch)) continue;
        // There is no room for it, and there will be none the next time.
        rowsRead.set(frame, -Infinity);
        return;
      }
      await filling.finish();
      filling.keep(frame);
    } catch {
      // Whoever reads the frame hears what is wrong with it.
    } finally {
      filling.cancel();
      catalogue.release(frame);
    }
  }

  return {
    partRead(frame, contents, rows) {
      if (rows === 0) return;
      const before = rowsRead.get(frame) ?? 0;
      rowsRead.set(frame, before + READ_ROWS + rows);
      if (before < contents.rows || warming !== undefined || closing.signal.aborted) return;
      rowsRead.delete(frame);
      warming = warm(frame, contents).finally(() => (warming = undefined));
    },
    async close() {
      closing.abort();
      await warming;
    },
  };
}
