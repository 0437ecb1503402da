import { unlinkIfThere } from '../disk/durable-files.ts';
import type { FrameStream } from '@svc/frames';
import type { FrameFiles, SourceInfo } from '../files/frame-files.ts';
import type { FrameContents, StoredFrame } from './catalogue/stored-frame.ts';

/** A Parquet file with the rows of a frame. */
export interface ParquetFile {
  readonly path: string;
  readonly info: SourceInfo;
}

/** Frames of other formats as Parquet files, each made when it is first asked for and kept while the frame is there. */
export interface ParquetCopies {
  of(frame: StoredFrame, contents: FrameContents): Promise<ParquetFile>;
  /** The frame is gone, or is another: its copy goes when nobody reads it. */
  remove(frame: StoredFrame): void;
  /** One reader less of a frame. */
  released(frame: StoredFrame): void;
  removeAll(): Promise<void>;
}

/** What copies are made with. */
export interface CopyOptions {
  readonly files: FrameFiles;
  /** Reads all rows of a frame. */
  readonly read: (frame: StoredFrame, contents: FrameContents) => FrameStream;
  /** A path that no file has. */
  readonly newPath: (frame: StoredFrame) => Promise<string>;
}

/** No copies yet. */
export function createParquetCopies({ files, read, newPath }: CopyOptions): ParquetCopies {
  const copies = new Map<StoredFrame, Promise<ParquetFile>>();
  const left = new Set<StoredFrame>();

  async function copy(frame: StoredFrame, contents: FrameContents): Promise<ParquetFile> {
    const path = await newPath(frame);
    const { source } = frame;
    const write = { compression: 'lz4' } as const;
    const info =
      source.kind === 'arrow'
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
      // One that failed is tried again.
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
