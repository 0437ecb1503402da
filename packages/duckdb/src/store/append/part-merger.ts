import type { FrameRef } from '@svc/frames';
import { createSemaphore } from '@svc/frames/async';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { contentsOfParts, type NextPart, partsOf, type StoredFrame } from '../catalogue/stored-frame.ts';
import type { ContentReader } from '../frame-contents.ts';
import type { FrameFiles, FramePart, WriteOptions } from '../../files/frame-files.ts';

/** Merges small parts of frames in the background. A merge is a version with the same rows. */
export interface PartMerger {
  /** Starts to merge parts of a frame if it has too many. */
  consider(frame: StoredFrame): void;
  /** Resolves when a frame may get another part. Fails if its parts cannot be merged. */
  room(ref: FrameRef): Promise<void>;
  /** Cancels the merges in progress. */
  close(): Promise<void>;
}

/** The parts of a store for merging. */
interface MergeParts {
  readonly files: FrameFiles;
  readonly compression: Pick<WriteOptions, 'compression' | 'level'>;
  /** Above this number of parts, some are merged. Default 64. */
  readonly mergeAbove?: number | undefined;
  readonly catalogue: Catalogue;
  readonly reader: Pick<ContentReader, 'describe'>;
  /** Fails if the directory is no longer locked by this process. */
  readonly checkLock: () => Promise<void>;
}

const DEFAULT_MERGE_ABOVE = 64;
/** Appends to a frame with this many times as many parts wait for a merge. */
const MAX_TIMES = 4;

/** Creates a merger. It works on one frame at a time. */
export function createPartMerger(parts: MergeParts): PartMerger {
  const { catalogue, mergeAbove = DEFAULT_MERGE_ABOVE } = parts;
  const running = new Map<string, Promise<void>>();
  const closing = new AbortController();
  const oneAtATime = createSemaphore(1);

  /** Merges parts of the current version of a frame until it has few enough. */
  async function mergeAll(ref: FrameRef): Promise<void> {
    for (;;) {
      const frame = await catalogue.current(ref);
      if (frame === undefined) return;
      try {
        const merged = partsOf(frame);
        if (merged.length <= mergeAbove) return;
        await mergeRun(parts, frame, partsToMerge(merged), closing.signal);
      } finally {
        catalogue.release(frame);
      }
    }
  }

  function start({ tenant, handle }: FrameRef): Promise<void> {
    const key = `${tenant}\0${handle}`;
    const known = running.get(key);
    if (known) return known;
    const work = oneAtATime.use(() => mergeAll({ tenant, handle }), closing.signal);
    const done = work.finally(() => running.delete(key));
    running.set(key, done);
    return done;
  }

  return {
    consider(frame) {
      if (frame.source.kind !== 'parts' || frame.source.parts.length <= mergeAbove || closing.signal.aborted) return;
      // The next append tries again. If the frame gets too many parts, it reports the failure.
      start(frame).catch(() => {});
    },
    async room(ref) {
      const frame = await catalogue.find(ref);
      if (frame?.source.kind !== 'parts' || frame.source.parts.length < MAX_TIMES * mergeAbove) return;
      await start(ref);
    },
    async close() {
      closing.abort();
      await Promise.allSettled(running.values());
    },
  };
}

/**
 * Chooses adjacent parts to merge: the last ones, and each before them if it is not much larger than all after it
 * together. So a row is written again only when its part has at least doubled, and large parts stay as they are.
 */
export function partsToMerge(parts: readonly FramePart[]): readonly FramePart[] {
  let from = parts.length - 1;
  let bytes = parts[from]?.size.fileBytes ?? 0;
  while (from > 0 && (parts[from - 1]?.size.fileBytes ?? 0) <= 2 * bytes) {
    from -= 1;
    bytes += parts[from]?.size.fileBytes ?? 0;
  }
  // If each size is less than half of the one before, there is nothing to choose: take the two smallest.
  return parts.slice(Math.min(from, parts.length - 2));
}

/** Writes the rows of some parts into one file and publishes it in their place, if the frame still has them. */
async function mergeRun(
  { catalogue, reader, files, compression, checkLock }: MergeParts,
  frame: StoredFrame,
  run: readonly FramePart[],
  signal: AbortSignal,
): Promise<void> {
  const folder = catalogue.folderOf(frame.tenant);
  const unfinishedPath = await folder.newFile();
  const pinned = run.map((part) => frame.pinned?.[partsOf(frame).indexOf(part)] ?? part);
  const { schema } = await reader.describe(frame);
  try {
    const info = contentsOfParts(schema, run);
    const written = await files.merge({ kind: 'parts', parts: pinned }, info, unfinishedPath, {
      ...compression,
      signal,
    });
    if (written.rows !== info.rows) throw new Error(`A merge wrote ${written.rows} rows instead of ${info.rows}.`);
    await catalogue.change(frame, async () => {
      signal.throwIfAborted();
      const current = await catalogue.find(frame);
      if (current === undefined) return;
      const contents = await reader.describe(current);
      const listed = partsOf(current);
      const at = listed.findIndex(({ path }) => path === run[0]?.path);
      if (!run.every(({ path }, i) => listed[at + i]?.path === path)) return;
      const version = catalogue.nextVersion(current);
      const merged: NextPart = { from: unfinishedPath, size: written };
      const parts = [...listed.slice(0, at), merged, ...listed.slice(at + run.length)];
      await checkLock();
      const next = { version, parts, expires: current.expires, isSame: true } as const;
      await catalogue.publish(current, { ...next, contents: contentsOfParts(contents.schema, parts) });
    });
  } finally {
    // Also if it became a part: that has another name.
    await folder.discard(unfinishedPath).catch(() => {});
  }
}
