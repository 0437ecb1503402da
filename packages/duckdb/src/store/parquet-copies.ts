import { unlinkIfThere } from '../disk/durable-files.ts';
import type { FrameStream } from '@svc/frames';
import type { FrameFiles, SourceInfo } from '../files/frame-files.ts';
import type { FrameContents, StoredFrame } from './catalogue/stored-frame.ts';

/** A Parquet file with the rows of a frame. */
export interface ParquetFile {
  readonly path: string;
  readonly info: SourceInfo;
}

/** Parquet copies of frames in other formats. A copy is made on first use and kept as long as the frame. */
export interface ParquetCopies {
  of(frame: StoredFrame, contents: FrameContents): Promise<ParquetFile>;
  /** The frame was dropped or replaced: removes its copy once it has no readers. */
  remove(frame: StoredFrame): void;
  /** A reader of the frame has released it. */
  released(frame: StoredFrame): void;
  removeAll(): Promise<void>;
}

/** Options of `createParquetCopies`. */
export interface CopyOptions {
  readonly files: FrameFiles;
  /** Reads all rows of a frame. */
  readonly read: (frame: StoredFrame, contents: FrameContents) => FrameStream;
  /** Returns an unused path. */
  readonly newPath: (frame: StoredFrame) => Promise<string>;
}

/** Creates an empty set of copies. */
export function createParquetCopies({ files, read, newPath }: CopyOptions): ParquetCopies {
  const copies = new Map<StoredFrame, Promise<ParquetFile>>();
  const left = new Set<StoredFrame>();

  async function copy(frame: StoredFrame, contents: FrameContents): Promise<ParquetFile> {
    const path = await newPath(frame);
    const { source } = frame;
    const write = { compression: 'lz4' } as const;
    const info =
      source.kind === 'arrow' || source.kind === 'parts'
        ? await files.write(path, read(frame, contents), write)
        : await files.convert(source, path, write);
    return { path, info };
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
