import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { FrameStream } from '@svc/frames';
import { createSemaphore } from '@svc/frames/async';
import type { CacheBudget } from '@svc/frames/streams';
import { unlinkIfThere } from '@svc/objects/internal';
import type { SourceInfo, WriteOptions } from '../../files/frame-files.ts';
import { filesOfParquet, followSize } from '../../files/unfinished-files.ts';
import { type FrameContents, isConverted, type StoredFrame } from '../catalogue/stored-frame.ts';
import { checkUnchanged, convertForeign, type ForeignConversion, plainCsvOf } from '../foreign/read-foreign.ts';
import { createSharedFiles, type SharedFiles } from './shared-files.ts';

/** A list of frames can need a copy of each: more at once would only compete for the same cores. */
const MAX_CONVERSIONS = 2;
/** How many copies are kept: one of a short file is made again in milliseconds. */
const MAX_COPIES = 1000;

/** A Parquet file with the rows of a frame. */
export interface ParquetCopy {
  readonly path: string;
  readonly info: SourceInfo;
  close(): Promise<void>;
}

/** Parquet copies of frames in other formats. A copy is not evicted while its frame has readers. */
export interface ParquetCopies extends Pick<SharedFiles<StoredFrame, ParquetCopy>, 'clear' | 'close'> {
  /** The caller has acquired the frame. `contents` may be missing if the rows are known only once they are converted. */
  of(frame: StoredFrame, contents?: FrameContents): Promise<ParquetCopy>;
  /** The frame was dropped or replaced: removes its copy once it has no readers. */
  remove(frame: StoredFrame): void;
  /** A reader of the frame has released it. */
  released(frame: StoredFrame): void;
}

/** Options of `createParquetCopies`. */
export interface CopyOptions {
  readonly conversion: ForeignConversion;
  readonly budget: CacheBudget;
  /** Reads all rows of a frame. */
  readonly read: (frame: StoredFrame, contents: FrameContents) => FrameStream;
  /** Returns an unused path. */
  readonly newPath: (frame: StoredFrame) => Promise<string>;
}

/** Creates an empty set of copies. */
export function createParquetCopies({ conversion, budget, read, newPath }: CopyOptions): ParquetCopies {
  const { files } = conversion;
  const conversions = createSemaphore(MAX_CONVERSIONS);
  const copies = createSharedFiles<StoredFrame, ParquetCopy>({
    budget,
    maxCount: MAX_COPIES,
    isInUse: ({ readers }) => readers > 0,
  });
  /** Dropped and replaced frames with readers. */
  const left = new Set<StoredFrame>();

  async function copy(
    frame: StoredFrame,
    contents: FrameContents | undefined,
    signal: AbortSignal,
    onSize: (bytes: number) => void,
  ): Promise<ParquetCopy> {
    const path = await newPath(frame);
    const stopFollowing = followSize([...filesOfParquet(path), plainCsvOf(path)], onSize);
    try {
      const info = await writeRows(frame, contents, path, { compression: 'lz4', signal });
      stopFollowing();
      onSize((await stat(path)).size);
      signal.throwIfAborted();
      await checkUnchanged(frame);
      return { path, info, close: () => unlinkIfThere(path) };
    } catch (error) {
      await unlinkIfThere(path).catch(() => {});
      signal.throwIfAborted();
      throw error;
    } finally {
      stopFollowing();
    }
  }

  async function writeRows(
    frame: StoredFrame,
    contents: FrameContents | undefined,
    path: string,
    write: WriteOptions,
  ): Promise<SourceInfo> {
    const { source } = frame;
    if (isConverted(source))
      return conversions.use(() => convertForeign(source, path, conversion, write), write.signal);
    if (source.kind !== 'arrow' && source.kind !== 'parts') return files.convert(source, path, write);
    if (contents === undefined) throw new Error('A frame is copied before it is described.');
    return files.write(path, read(frame, contents), write);
  }

  return {
    async of(frame, contents) {
      const open = async (): Promise<ParquetCopy> => {
        const opened = await copies.open(frame, {
          make: (signal, onSize) => copy(frame, contents, signal, onSize),
          tooLarge: () => tooLarge(frame.handle, budget.maxBytes),
        });
        opened.close();
        return opened.file;
      };
      const found = await open();
      if (existsSync(found.path)) return found;
      // Someone has removed it.
      copies.remove(frame);
      return open();
    },
    remove(frame) {
      if (frame.readers === 0) copies.remove(frame);
      else if (copies.stateOf(frame) !== undefined) left.add(frame);
    },
    released(frame) {
      if (frame.readers === 0 && left.delete(frame)) copies.remove(frame);
    },
    clear: () => copies.clear(),
    close: () => copies.close(),
  };
}

function tooLarge(handle: string, maxBytes: number): ServiceError {
  const message = `The Parquet copies of ${quoted(handle)} and other derived files in use take more than ${maxBytes} bytes.`;
  return new ServiceError('out_of_disk', message, {
    hint: 'Send the request again later, or raise storage.disk_cache_bytes, or replace the file with a Parquet file.',
  });
}
