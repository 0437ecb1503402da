import { unlinkIfThere } from '../disk/durable-files.ts';
import type { FrameStream } from '@svc/frames';
import { createSemaphore } from '@svc/frames/internal';
import type { SourceInfo, WriteOptions } from '../files/frame-files.ts';
import { checkUnchanged } from './foreign/check-unchanged.ts';
import { convertForeign, type ForeignConversion } from './foreign/convert-foreign.ts';
import { type FrameContents, isConverted, type StoredFrame } from './catalogue/stored-frame.ts';

/** A list of frames can need a copy of each: more at once would only compete for the same cores. */
const MAX_CONVERSIONS = 2;

/** A Parquet file with the rows of a frame. */
export interface ParquetFile {
  readonly path: string;
  readonly info: SourceInfo;
}

/** Parquet copies of frames in other formats. A copy is made on first use and kept as long as the frame. */
export interface ParquetCopies {
  /** `contents` may be missing if the rows are known only once they are converted. */
  of(frame: StoredFrame, contents?: FrameContents): Promise<ParquetFile>;
  /** The frame was dropped or replaced: removes its copy once it has no readers. */
  remove(frame: StoredFrame): void;
  /** A reader of the frame has released it. */
  released(frame: StoredFrame): void;
  removeAll(): Promise<void>;
}

/** Options of `createParquetCopies`. */
export interface CopyOptions {
  readonly conversion: ForeignConversion;
  /** Reads all rows of a frame. */
  readonly read: (frame: StoredFrame, contents: FrameContents) => FrameStream;
  /** Returns an unused path. */
  readonly newPath: (frame: StoredFrame) => Promise<string>;
}

/** Creates an empty set of copies. */
export function createParquetCopies({ conversion, read, newPath }: CopyOptions): ParquetCopies {
  const { files } = conversion;
  const copies = new Map<StoredFrame, Promise<ParquetFile>>();
  const left = new Set<StoredFrame>();
  const conversions = createSemaphore(MAX_CONVERSIONS);

  async function copy(frame: StoredFrame, contents: FrameContents | undefined): Promise<ParquetFile> {
    const path = await newPath(frame);
    const write = { compression: 'lz4' } as const;
    const info = await writeRows(frame, contents, path, write);
    try {
      await checkUnchanged(frame);
    } catch (error) {
      await unlinkIfThere(path).catch(() => {});
      throw error;
    }
    return { path, info };
  }

  async function writeRows(
    frame: StoredFrame,
    contents: FrameContents | undefined,
    path: string,
    write: WriteOptions,
  ): Promise<SourceInfo> {
    const { source } = frame;
    if (isConverted(source)) return conversions.use(() => convertForeign(source, path, conversion, write));
    if (source.kind !== 'arrow' && source.kind !== 'parts') return files.convert(source, path, write);
    if (contents === undefined) throw new Error('A frame is copied before it is described.');
    return files.write(path, read(frame, contents), write);
  }

  async function discard(frame: StoredFrame): Promise<void> {
    const made = copies.get(frame);
    copies.delete(frame);
    left.delete(frame);
    const file = await made?.catch(() => undefined);
    if (file !== undefined) await unlinkIfThere(file.path).catch(() => {});
  }

  return {
    of(frame, contents) {
      const made = copies.get(frame) ?? copy(frame, contents);
      copies.set(frame, made);
      // Retry a failed copy on the next call.
      made.catch(() => copies.delete(frame));
      return made;
    },
    remove(frame) {
      if (!copies.has(frame)) return;
      left.add(frame);
      if (frame.readers === 0) void discard(frame);
    },
    released(frame) {
      if (left.has(frame) && frame.readers === 0) void discard(frame);
    },
    async removeAll() {
      await Promise.all([...copies.keys()].map(discard));
    },
  };
}
