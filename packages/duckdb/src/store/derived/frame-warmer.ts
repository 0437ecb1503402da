import type { UnnamedFiles } from '../../disk/unnamed-files.ts';
import type { FrameFiles } from '../../files/frame-files.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { type FrameContents, sourceOf, type StoredFrame } from '../catalogue/stored-frame.ts';
import type { DiskTier } from './disk-tier.ts';
import type { HotTier } from './hot-tier.ts';
import type { ContentReader } from '../frame-contents.ts';

/** Loads frames into memory if they are read repeatedly, or decodes them on disk if they do not fit there. */
export interface FrameWarmer {
  /** Records a read from disk without loading the frame: its rows, weighted with its share of the columns. */
  coldRead(frame: StoredFrame, contents: FrameContents, rows: number): void;
  /** Cancels the load in progress. */
  close(): Promise<void>;
}

/** The fixed cost of a read, in rows. */
const READ_ROWS = 50_000;

/** Reads of this many times the rows of a frame before it is tried again to decode it on disk. */
const RETRY_TIMES = 10;

/** Options of `createFrameWarmer`. */
export interface FrameWarmerOptions {
  readonly reader: Pick<ContentReader, 'read'>;
  readonly files: Pick<FrameFiles, 'decode'>;
  readonly unnamed: UnnamedFiles;
  readonly hot: HotTier<StoredFrame>;
  readonly disk: DiskTier<StoredFrame>;
  readonly catalogue: Pick<Catalogue, 'acquire' | 'isCurrent' | 'release'>;
}

/**
 * Creates a warmer. It loads a frame when its reads from disk have cost as much as reading the whole: whatever is read
 * next, the total is at most about twice the work. Loads one frame at a time, and decodes one at a time.
 */
export function createFrameWarmer(options: FrameWarmerOptions): FrameWarmer {
  const { reader, files, unnamed, hot, disk, catalogue } = options;
  const rowsRead = new WeakMap<StoredFrame, number>();
  const closing = new AbortController();
  const warming = new Map<'disk' | 'memory', Promise<void>>();

  async function warm(frame: StoredFrame, contents: FrameContents, tier: 'disk' | 'memory'): Promise<void> {
    await catalogue.acquire(frame);
    try {
      if (tier === 'memory') await load(frame, contents);
      else if (!(await decodeOnDisk(frame, contents))) rowsRead.set(frame, -RETRY_TIMES * contents.rows);
    } finally {
      catalogue.release(frame);
      warming.delete(tier);
    }
  }

  async function load(frame: StoredFrame, contents: FrameContents): Promise<void> {
    const filling = hot.fill(frame, contents.schema, contents.arrowBytes);
    if (filling === undefined) return;
    try {
      for await (const batch of reader.read(frame, contents, { signal: closing.signal }).batches) {
        if (await filling.add(batch)) continue;
        // The frame does not fit, and will not fit the next time.
        rowsRead.set(frame, -Infinity);
        return;
      }
      filling.finish();
      filling.keep(frame);
    } catch {
      // The next reader of the frame gets the error.
    } finally {
      filling.cancel();
    }
  }

  async function decodeOnDisk(frame: StoredFrame, contents: FrameContents): Promise<boolean> {
    const source = sourceOf(frame);
    // Foreign files may change at any time.
    if (frame.isForeign || source.kind !== 'parts' || contents.arrowBytes === undefined) return false;
    const { signal } = closing;
    return disk.fill(frame, contents.arrowBytes, (onSize) =>
      files.decode(source, contents, { unnamed, onSize, signal }),
    );
  }

  return {
    coldRead(frame, contents, rows) {
      if (rows === 0) return;
      const before = rowsRead.get(frame) ?? 0;
      rowsRead.set(frame, before + READ_ROWS + rows);
      const tier = hot.mayHold(contents.arrowBytes) ? 'memory' : 'disk';
      if (before < contents.rows || warming.has(tier) || closing.signal.aborted) return;
      // A replaced or dropped frame gets no further readers.
      if (!frame.isForeign && !catalogue.isCurrent(frame)) return;
      rowsRead.delete(frame);
      warming.set(tier, warm(frame, contents, tier));
    },
    async close() {
      closing.abort();
      await Promise.all(warming.values());
    },
  };
}
