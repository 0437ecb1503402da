import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { type Decoders, decompressBody, type FrameStream } from '@svc/frames';
import { createSemaphore } from '@svc/frames/internal';
import { unlinkIfThere } from '../disk/durable-files.ts';
import { csvText } from '../files/csv-text.ts';
import type { FrameFiles, SourceInfo, WriteOptions } from '../files/frame-files.ts';
import { filesOfParquet } from '../files/side-files.ts';
import { followSize } from '../files/watch-size.ts';
import { type ConvertedSource, type FrameContents, isConverted, type StoredFrame } from './catalogue/stored-frame.ts';
import { checkUnchanged } from './foreign/check-unchanged.ts';

/** A list of frames can need a copy of each: more at once would only compete for the same cores. */
const MAX_CONVERSIONS = 2;
/** How many copies are kept: one of a short file is made again in milliseconds. */
const MAX_COPIES = 1000;

/** A Parquet file with the rows of a frame. */
export interface ParquetFile {
  readonly path: string;
  readonly info: SourceInfo;
}

/**
 * Parquet copies of frames in other formats, within a budget. A copy is made on first use and kept as long as the frame,
 * unless others need its space: then the least recently used ones without readers go, and are made again when needed.
 */
export interface ParquetCopies {
  /** The caller has acquired the frame. `contents` may be missing if the rows are known only once they are converted. */
  of(frame: StoredFrame, contents?: FrameContents): Promise<ParquetFile>;
  /** The frame was dropped or replaced: removes its copy once it has no readers. */
  remove(frame: StoredFrame): void;
  /** A reader of the frame has released it. */
  released(frame: StoredFrame): void;
  /** Removes all copies without readers. */
  clear(): void;
  removeAll(): Promise<void>;
}

/** Options of `createParquetCopies`. */
export interface CopyOptions {
  readonly conversion: ForeignConversion;
  /** The bytes of all copies together, also of those that are being written. */
  readonly maxBytes: number;
  /** Reads all rows of a frame. */
  readonly read: (frame: StoredFrame, contents: FrameContents) => FrameStream;
  /** Returns an unused path. */
  readonly newPath: (frame: StoredFrame) => Promise<string>;
}

interface Copy {
  readonly made: Promise<ParquetFile>;
  readonly cancel: AbortController;
  /** The bytes that it has by now. */
  bytes: number;
  isComplete: boolean;
}

/** Creates an empty set of copies. */
export function createParquetCopies({ conversion, maxBytes, read, newPath }: CopyOptions): ParquetCopies {
  const { files } = conversion;
  /** In the order of their last use. */
  const copies = new Map<StoredFrame, Copy>();
  const left = new Set<StoredFrame>();
  const conversions = createSemaphore(MAX_CONVERSIONS);

  /** Removes copies without readers until the others fit. Returns whether they do. */
  function evict(limit = maxBytes): boolean {
    let total = [...copies.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    for (const [frame, { isComplete, bytes }] of copies) {
      if (total <= limit && copies.size <= MAX_COPIES) break;
      if (!isComplete || frame.readers > 0) continue;
      total -= bytes;
      void discard(frame);
    }
    return total <= limit;
  }

  function start(frame: StoredFrame, contents: FrameContents | undefined): Copy {
    const cancel = new AbortController();
    const onSize = (bytes: number): void => {
      started.bytes = bytes;
      if (!evict()) cancel.abort(tooMuch(frame.handle, maxBytes));
    };
    const made = copy(frame, contents, cancel.signal, onSize);
    const started: Copy = { made, cancel, bytes: 0, isComplete: false };
    made.then(
      () => (started.isComplete = true),
      // Retry a failed copy on the next call.
      () => copies.get(frame) === started && copies.delete(frame),
    );
    return started;
  }

  async function copy(
    frame: StoredFrame,
    contents: FrameContents | undefined,
    signal: AbortSignal,
    onSize: (bytes: number) => void,
  ): Promise<ParquetFile> {
    const path = await newPath(frame);
    const stopFollowing = followSize([...filesOfParquet(path), plainCsvOf(path)], onSize);
    try {
      const info = await writeRows(frame, contents, path, { compression: 'lz4', signal });
      stopFollowing();
      onSize((await stat(path)).size);
      signal.throwIfAborted();
      await checkUnchanged(frame);
      return { path, info };
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

  async function discard(frame: StoredFrame): Promise<void> {
    const made = copies.get(frame)?.made;
    copies.delete(frame);
    left.delete(frame);
    const file = await made?.catch(() => undefined);
    if (file !== undefined) await unlinkIfThere(file.path).catch(() => {});
  }

  return {
    of(frame, contents) {
      const found = copies.get(frame) ?? start(frame, contents);
      copies.delete(frame);
      copies.set(frame, found);
      return found.made;
    },
    remove(frame) {
      if (!copies.has(frame)) return;
      left.add(frame);
      if (frame.readers === 0) void discard(frame);
    },
    released(frame) {
      if (left.has(frame) && frame.readers === 0) void discard(frame);
    },
    clear: () => void evict(0),
    async removeAll() {
      const stopping = new ServiceError('unavailable', 'The server is stopping.');
      for (const { cancel } of copies.values()) cancel.abort(stopping);
      await Promise.all([...copies.keys()].map(discard));
    },
  };
}

function tooMuch(handle: string, maxBytes: number): ServiceError {
  const message = `The Parquet copies of ${quoted(handle)}, and of others that are being read, take more than ${maxBytes} bytes.`;
  return new ServiceError('out_of_disk', message, {
    hint: 'Send the request again later, or raise storage.max_conversion_bytes, or replace the file with a Parquet file.',
  });
}

/** What converting a foreign file needs. */
interface ForeignConversion {
  readonly files: FrameFiles;
  readonly decoders: Decoders | undefined;
  /** The limit of a compressed file, decompressed, in bytes. Default 20 GiB. */
  readonly maxBytes: number | undefined;
}

/** The plain CSV file that a Parquet file is written from; it is removed then. */
function plainCsvOf(path: string): string {
  return `${path}.csv`;
}

/** Writes the rows of a foreign file to a Parquet file of ours. */
async function convertForeign(
  source: ConvertedSource,
  path: string,
  { files, decoders, maxBytes = 20 * 1024 ** 3 }: ForeignConversion,
  write: WriteOptions,
): Promise<SourceInfo> {
  const { path: from } = source;
  if (source.kind === 'json' || source.kind === 'ndjson') {
    if (decoders === undefined) throw new ServiceError('invalid_data', 'This store cannot read JSON files.');
    const { size } = await stat(from);
    const { signal } = write;
    const rows = await decoders.decode(
      source.kind,
      { path: from, grown: async () => size },
      { ...(signal && { signal }) },
    );
    return files.write(path, rows, write);
  }
  const plain = plainCsvOf(path);
  try {
    await writePlain(source, plain, maxBytes, write.signal);
    const { delimiter } = source;
    return await files.convert({ kind: 'csv', path: plain, ...(delimiter && { delimiter }) }, path, write);
  } finally {
    await unlinkIfThere(plain).catch(() => {});
  }
}

/** Writes CSV in UTF-8, not compressed. */
async function writePlain(
  { kind, path }: ConvertedSource,
  to: string,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const stored: AsyncIterable<Uint8Array> = createReadStream(path);
  const bytes = kind === 'gzip_csv' ? decompressBody(stored, 'gzip', { maxBytes }) : stored;
  try {
    const file = createWriteStream(to, { flags: 'wx', mode: 0o600 });
    await pipeline(csvText(bytes, {}), file, { ...(signal && { signal }) });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'payload_too_large') throw error;
    throw new ServiceError('payload_too_large', `The file decompresses to more than ${maxBytes} bytes.`, {
      hint: 'Raise storage.max_conversion_bytes, or replace the file with a Parquet file.',
      cause: error,
    });
  }
}
