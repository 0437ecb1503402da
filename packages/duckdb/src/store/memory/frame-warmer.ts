import type { Catalogue } from '../catalogue/catalogue.ts';
import type { FrameStream } from '@svc/frames';
import type { HotTier } from './hot-tier.ts';
import type { FrameContents, StoredFrame } from '../catalogue/stored-frame.ts';

/** Loads frames into memory if parts of them are read repeatedly. */
export interface FrameWarmer {
  /** Records a partial read from disk. */
  partRead(frame: StoredFrame, contents: FrameContents, rows: number): void;
  /** Cancels the load in progress. */
  close(): Promise<void>;
}

/** The fixed cost of a read, in rows. */
const READ_ROWS = 50_000;

/**
 * Creates a warmer that loads a frame when its partial reads have cost as much as reading the whole: whatever is read
 * next, the total is at most about twice the work. Loads one frame at a time.
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
        // The frame does not fit, and will not fit the next time.
        rowsRead.set(frame, -Infinity);
        return;
      }
      await filling.finish();
      filling.keep(frame);
    } catch {
      // The next reader of the frame gets the error.
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
