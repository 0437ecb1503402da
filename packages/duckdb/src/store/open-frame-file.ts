import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { type ByteRange, encodeCsv, encodeNdjson, type FrameFile, type FrameStream } from '@svc/frames';
import { encodeArrowFile } from '@svc/frames/internal';
import { unlinkIfThere } from '../disk/durable-files.ts';
import type { FrameFiles, WriteOptions } from '../files/frame-files.ts';
import { plainOf } from '../files/side-files.ts';
import { readRange, type UnnamedFiles } from '../disk/unnamed-files.ts';
import { versionOfFile } from '../wire/file-version.ts';
import type { FrameContents, StoredFrame } from './catalogue/stored-frame.ts';
import { createEncodedFiles, type EncodedFiles, type EncodeTarget } from './encoded-files.ts';
import type { ContentReader } from './frame-contents.ts';
import type { DiskTier } from './memory/disk-tier.ts';
import type { OpenFrameFile } from './open-stored-frame.ts';
import { changedFile, isFullDisk } from './store-errors.ts';

/** Opening a FIFO in place of the file must not block. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Opens frames as files: the stored file itself if it is one of the format, else an encoded one. */
export function createOpenFrameFile(
  reader: ContentReader,
  encoded: EncodedFiles,
  disk: Pick<DiskTier<StoredFrame>, 'clear' | 'usedBytes'>,
): OpenFrameFile {
  /** The state of each file when it was compared with its checksums. */
  const verified = new WeakMap<StoredFrame, string>();

  async function openStored(frame: StoredFrame, path: string, signal: AbortSignal | undefined): Promise<FrameFile> {
    const options = signal && { signal };
    const file = await open(path, OPEN_FLAGS).catch(async (error: unknown) => {
      // Fails with an error that names the frame.
      await reader.verify(frame, options);
      throw error;
    });
    try {
      const status = await file.stat({ bigint: true });
      const version = versionOfFile(status);
      if (frame.isForeign && version !== frame.version) throw changedFile(frame.handle);
      if (verified.get(frame) !== version) await reader.verify(frame, options);
      verified.set(frame, version);
      return storedFile(frame, file, Number(status.size));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  return async (frame, contents, format, options = {}) => {
    // If DuckDB would change values of the file, other readers may do so too.
    const path = format === 'parquet' && !contents.needsCopy ? parquetPath(frame) : undefined;
    if (path !== undefined) return openStored(frame, path, options.signal);
    return encoded.open(frame, contents, format, options).catch((error: unknown) => {
      // Not if the files that are encoded take more than they may: then the disk is not full.
      const isFull = error instanceof Error && isFullDisk(error.cause);
      if (!isFull || disk.usedBytes === 0) throw error;
      // Decoded frames are in the same directory.
      disk.clear();
      return encoded.open(frame, contents, format, options);
    });
  };
}

/** Returns the path of the only Parquet file with the rows of a frame, if there is one. */
function parquetPath({ source }: StoredFrame): string | undefined {
  if (source.kind === 'parquet') return source.path;
  return source.kind === 'parts' && source.parts.length === 1 ? source.parts[0]?.path : undefined;
}

function storedFile(frame: StoredFrame, file: FileHandle, bytes: number): FrameFile {
  async function* read(range: ByteRange, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of readRange(file, range, { signal, reuseBuffers: true })) {
      // Other programs may write to a foreign file.
      const version = frame.isForeign ? versionOfFile(await file.stat({ bigint: true })) : frame.version;
      if (version !== frame.version) throw changedFile(frame.handle);
      yield chunk;
    }
  }
  return { bytes, version: frame.version, read, close: () => void file.close().catch(() => {}) };
}

/** Options of `createFrameEncodings`. */
export interface FrameEncodingOptions {
  readonly reader: ContentReader;
  readonly files: FrameFiles;
  readonly compression: Pick<WriteOptions, 'compression' | 'level'>;
  readonly unnamed: UnnamedFiles;
  readonly maxBytes: number;
}

/** Creates the encoded files of a store. */
export function createFrameEncodings(options: FrameEncodingOptions): EncodedFiles {
  const { reader, files, compression, unnamed, maxBytes } = options;

  async function encode(frame: StoredFrame, contents: FrameContents, target: EncodeTarget): Promise<void> {
    const { format, path, signal } = target;
    // Not from memory, where the batches may have other lengths: the same frame should give the same bytes.
    const stream = reader.read(frame, contents, { signal, reuseBuffers: format !== 'parquet' });
    switch (format) {
      case 'parquet':
        return void (await files.write(path, stream, { ...compression, signal }));
      case 'csv':
        return writeChunks(path, encodeCsv(stream, { reuseBuffers: true }), signal);
      case 'ndjson':
        return writeChunks(path, encodeNdjson(stream, { reuseBuffers: true }), signal);
      case 'arrow':
        return frame.source.kind === 'arrow' ? rewriteArrow(path, stream, signal) : writeArrow(path, stream, signal);
      default:
        return format satisfies never;
    }
  }

  /** An Arrow stream may replace dictionaries, which an Arrow file cannot. In Parquet they are plain values. */
  async function rewriteArrow(path: string, stream: FrameStream, signal: AbortSignal): Promise<void> {
    const plain = plainOf(path);
    try {
      const info = await files.write(plain, stream, { compression: 'lz4', signal });
      const again = files.read({ kind: 'parquet', path: plain }, info, { signal, reuseBuffers: true });
      await writeArrow(path, again, signal);
    } finally {
      await unlinkIfThere(plain);
    }
  }

  return createEncodedFiles({ unnamed, encode, maxBytes });
}

function writeArrow(path: string, stream: FrameStream, signal: AbortSignal): Promise<void> {
  return writeChunks(path, encodeArrowFile(stream, { reuseBuffers: true }), signal);
}

async function writeChunks(path: string, chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  const file = await open(path, 'wx');
  try {
    for await (const chunk of chunks) {
      signal.throwIfAborted();
      for (let done = 0; done < chunk.length;) done += (await file.write(chunk, done)).bytesWritten;
    }
  } finally {
    await file.close();
  }
}
