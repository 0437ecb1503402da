import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { ServiceError } from '@svc/errors';
import {
  type ByteRange,
  encodeCsv,
  encodeNdjson,
  type FrameFile,
  type FrameFileFormat,
  type FrameFileOptions,
  type FrameStream,
} from '@svc/frames';
import { createSemaphore } from '@svc/frames/async';
import { encodeArrowFile } from '@svc/frames/ipc';
import type { CacheBudget } from '@svc/frames/streams';
import { unlinkIfThere } from '@svc/objects/internal';
import { readRange, toExportError, type UnnamedFiles } from '../../disk/unnamed-files.ts';
import type { FrameFiles, WriteOptions } from '../../files/frame-files.ts';
import { filesOfEncoding, followSize, plainOf } from '../../files/unfinished-files.ts';
import { versionOfFile } from '../../wire/file-layout.ts';
import { type FrameContents, sourceOf, type StoredFrame } from '../catalogue/stored-frame.ts';
import type { ContentReader } from '../frame-contents.ts';
import { changedFile, isFullDisk } from '../store-errors.ts';
import type { DiskTier } from './disk-tier.ts';
import { createSharedFiles, type FileMaker } from './shared-files.ts';

/** Frames as files, for clients with range requests: the stored file if it has the format, else an encoded one. */
export interface EncodedFiles {
  /** Opens a frame as a file. Undefined if the file `mustExist` but does not. The caller has acquired the frame. */
  open(
    frame: StoredFrame,
    contents: FrameContents,
    format: FrameFileFormat,
    options?: FrameFileOptions,
  ): Promise<FrameFile | undefined>;
  /** The frame was dropped or replaced: closes its encoded files when they are no longer in use. */
  remove(frame: StoredFrame): void;
  close(): Promise<void>;
}

/** Options of `createEncodedFiles`. */
export interface EncodedFilesOptions {
  readonly reader: ContentReader;
  readonly files: FrameFiles;
  readonly compression: Pick<WriteOptions, 'compression' | 'level'>;
  readonly unnamed: UnnamedFiles;
  readonly budget: CacheBudget;
  readonly disk: Pick<DiskTier<StoredFrame>, 'clear' | 'usedBytes'>;
}

/** How many files are encoded at the same time; others wait. */
const MAX_RUNNING = 2;
/** Each file is held open. */
const MAX_FILES = 16;
/** How long a file is kept after its last use. */
const IDLE_MS = 60_000;

/** The formats of files for clients. */
export const FRAME_FILE_FORMATS: readonly FrameFileFormat[] = ['parquet', 'arrow', 'csv', 'ndjson'];

const TITLES: Readonly<Record<FrameFileFormat, string>> = {
  parquet: 'Parquet',
  arrow: 'Arrow',
  csv: 'CSV',
  ndjson: 'NDJSON',
};

/** A complete file. */
interface EncodedFile {
  readonly file: FileHandle;
  readonly bytes: number;
  /** Identifies the bytes. */
  readonly version: string;
  close(): Promise<void>;
}

/** Opens frames as files. */
export function createEncodedFiles(options: EncodedFilesOptions): EncodedFiles {
  const { reader, budget, disk } = options;
  const running = createSemaphore(MAX_RUNNING);
  const encoded = createSharedFiles<string, EncodedFile>({
    budget,
    maxCount: MAX_FILES,
    idleMs: IDLE_MS,
  });
  const openStored = createStoredFiles(reader);

  async function openEncoded(
    frame: StoredFrame,
    contents: FrameContents,
    format: FrameFileFormat,
    { mustExist = false, signal }: FrameFileOptions,
  ): Promise<FrameFile | undefined> {
    const key = keyOf(frame, format);
    if (mustExist && encoded.stateOf(key) !== 'made') return undefined;
    const maker: FileMaker<EncodedFile> = {
      make: (stop, onSize) =>
        running.use(() => writeFile(options, { frame, contents, format, signal: stop, onSize }), stop),
      tooLarge: () => tooLarge(format, budget.maxBytes),
    };
    const opened = await encoded.open(key, maker, signal);
    const { file, bytes, version } = opened.file;
    return {
      bytes,
      version,
      read: (range, stop) => readRange(file, range, { signal: stop, reuseBuffers: true }),
      close: () => opened.close(),
    };
  }

  return {
    async open(frame, contents, format, file = {}) {
      // If DuckDB would change values of the file, other readers may do so too.
      const path = format === 'parquet' && !contents.needsCopy ? parquetPath(frame) : undefined;
      if (path !== undefined) return openStored(frame, path, file.signal);
      return openEncoded(frame, contents, format, file).catch((error: unknown) => {
        // Not if the derived files take more than they may: then the disk is not full.
        const isFull = error instanceof Error && isFullDisk(error.cause);
        if (!isFull || disk.usedBytes === 0) throw error;
        // Decoded frames are in the same directory.
        disk.clear();
        return openEncoded(frame, contents, format, file);
      });
    },
    remove(frame) {
      for (const format of FRAME_FILE_FORMATS) encoded.remove(keyOf(frame, format));
    },
    close: () => encoded.close(),
  };
}

function keyOf({ tenant, handle, version }: StoredFrame, format: FrameFileFormat): string {
  return JSON.stringify([tenant, handle, version, format]);
}

/** A file in progress. */
interface Encoding {
  readonly frame: StoredFrame;
  readonly contents: FrameContents;
  readonly format: FrameFileFormat;
  readonly signal: AbortSignal;
  readonly onSize: (bytes: number) => void;
}

async function writeFile(options: EncodedFilesOptions, encoding: Encoding): Promise<EncodedFile> {
  const { format, signal, onSize } = encoding;
  const file = await options.unnamed
    .create(format, async (path) => {
      const stopFollowing = followSize(filesOfEncoding(path), onSize);
      try {
        await encode(options, path, encoding);
      } finally {
        stopFollowing();
      }
    })
    .catch((error: unknown) => {
      signal.throwIfAborted();
      throw toExportError(error, TITLES[format]);
    });
  const close = (): Promise<void> => file.close();
  try {
    const { size: bytes } = await file.stat();
    onSize(bytes);
    signal.throwIfAborted();
    return { file, bytes, version: await versionOf(file, bytes, encoding), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function encode({ reader, files, compression }: EncodedFilesOptions, path: string, to: Encoding): Promise<void> {
  const { frame, contents, format, signal } = to;
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
      return frame.source.kind === 'arrow'
        ? rewriteArrow(files, path, stream, signal)
        : writeChunks(path, encodeArrowFile(stream, { reuseBuffers: true }), signal);
    default:
      return format satisfies never;
  }
}

/** An Arrow stream may replace dictionaries, an Arrow file cannot. In Parquet they are plain values. */
async function rewriteArrow(files: FrameFiles, path: string, stream: FrameStream, signal: AbortSignal): Promise<void> {
  const plain = plainOf(path);
  try {
    const info = await files.write(plain, stream, { compression: 'lz4', signal });
    const again = files.read({ kind: 'parquet', path: plain }, info, { signal, reuseBuffers: true });
    await writeChunks(path, encodeArrowFile(again, { reuseBuffers: true }), signal);
  } finally {
    await unlinkIfThere(plain);
  }
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

/**
 * Identifies the bytes of a file. A row has only one text, but the rows of an Arrow or Parquet file may be grouped
 * differently when the frame is encoded again.
 */
async function versionOf(file: FileHandle, bytes: number, { frame, format, signal }: Encoding): Promise<string> {
  if (format === 'csv' || format === 'ndjson') return frame.version;
  let checksum = 0;
  for await (const chunk of readRange(file, { start: 0, end: bytes }, { signal, reuseBuffers: true })) {
    checksum = crc32(chunk, checksum);
  }
  return `${frame.version}.${checksum.toString(16).padStart(8, '0')}`;
}

function tooLarge(format: FrameFileFormat, maxBytes: number): ServiceError {
  const message = `The ${TITLES[format]} file and other derived files in use take more than ${maxBytes} bytes.`;
  return new ServiceError('out_of_disk', message, {
    hint: 'Send the request again later, or raise storage.disk_cache_bytes, or stream the frame with /exp?fmt=arrow.',
  });
}

/** Returns the path of the only Parquet file with the rows of a frame, if there is one. */
function parquetPath(frame: StoredFrame): string | undefined {
  const source = sourceOf(frame);
  if (source.kind === 'parquet') return source.path;
  return source.kind === 'parts' && source.parts.length === 1 ? source.parts[0]?.path : undefined;
}

/** Opening a FIFO in place of the file must not block. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Returns a function to open the stored file of a frame, after a comparison with its checksums. */
function createStoredFiles(
  reader: ContentReader,
): (frame: StoredFrame, path: string, signal: AbortSignal | undefined) => Promise<FrameFile> {
  /** The state of each file when it was compared with its checksums. */
  const verified = new WeakMap<StoredFrame, string>();

  return async (frame, path, signal) => {
    const options = signal && { signal };
    const file = await open(path, OPEN_FLAGS).catch(async (error: unknown) => {
      // Fails with the name of the frame.
      await reader.verify(frame, options);
      throw error;
    });
    try {
      const status = await file.stat({ bigint: true });
      const version = versionOfFile(status, !frame.isForeign);
      if (frame.isForeign && version !== frame.version) throw changedFile(frame.handle);
      if (verified.get(frame) !== version) await reader.verify(frame, options);
      verified.set(frame, version);
      return storedFile(frame, file, Number(status.size));
    } catch (error) {
      await file.close();
      throw error;
    }
  };
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
