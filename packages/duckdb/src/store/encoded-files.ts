import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { cancelledError, ServiceError } from '@svc/errors';
import { orAborted } from '@svc/errors/internal';
import type { FrameFile, FrameFileFormat, FrameFileOptions } from '@svc/frames';
import { createSemaphore } from '@svc/frames/internal';
import { readRange, toExportError, type UnnamedFiles } from '../disk/unnamed-files.ts';
import { filesOfEncoding } from '../files/side-files.ts';
import { followSize } from '../files/watch-size.ts';
import type { FrameContents, StoredFrame } from './catalogue/stored-frame.ts';

/** Frames encoded as files, for clients that read ranges. A file is kept while it is in use and for a short time after. */
export interface EncodedFiles {
  /**
   * Opens the file of a frame, which the caller holds open meanwhile. Concurrent calls share one encoding. Undefined if the
   * file `mustExist` but does not.
   */
  open(
    frame: StoredFrame,
    contents: FrameContents,
    format: FrameFileFormat,
    options: FrameFileOptions,
  ): Promise<FrameFile | undefined>;
  /** The frame was dropped or replaced: closes its files when they are no longer in use. */
  remove(frame: StoredFrame): void;
  close(): Promise<void>;
}

/** Options of `createEncodedFiles`. */
export interface EncodedFilesOptions {
  readonly unnamed: UnnamedFiles;
  /** Writes a frame to a new file. */
  readonly encode: (frame: StoredFrame, contents: FrameContents, target: EncodeTarget) => Promise<unknown>;
  /** The bytes of all files together. */
  readonly maxBytes: number;
  /** How long a file is kept after its last use. Default 60 000. */
  readonly idleMs?: number;
}

/** The file that a frame is encoded to. */
export interface EncodeTarget {
  readonly format: FrameFileFormat;
  readonly path: string;
  readonly signal: AbortSignal;
}

/** How many files are encoded at the same time; others wait. */
const MAX_RUNNING = 2;
/** How many files are kept without a user. */
const MAX_IDLE = 16;

/** Creates an empty set of files. */
export function createEncodedFiles(options: EncodedFilesOptions): EncodedFiles {
  const { maxBytes, idleMs = 60_000 } = options;
  const running = createSemaphore(MAX_RUNNING);
  const kept = createKeptFiles(maxBytes);

  function start(frame: StoredFrame, contents: FrameContents, format: FrameFileFormat): KeptFile {
    const cancel = new AbortController();
    const { signal } = cancel;
    const resize = (bytes: number): void => {
      started.bytes = bytes;
      if (!kept.evict()) cancel.abort(tooMuch(format, maxBytes));
    };
    const encoded = running.use(() => write(options, started, contents, resize), signal);
    const started: KeptFile = { frame, format, cancel, encoded, isComplete: false, bytes: 0, users: 0 };
    // Each user awaits the file; the next one retries a failed encoding.
    encoded.then(
      () => (started.isComplete = true),
      () => kept.remove(started),
    );
    return started;
  }

  function release(file: KeptFile): void {
    file.users -= 1;
    if (file.users > 0) return;
    if (!file.isComplete) file.cancel.abort(cancelledError(undefined, 'The request for the file was cancelled.'));
    if (!file.isComplete || !kept.isCurrent(file)) return kept.remove(file);
    file.idleTimer = setTimeout(() => kept.remove(file), idleMs).unref();
    kept.evict(MAX_IDLE);
  }

  return {
    async open(frame, contents, format, { mustExist = false, signal }) {
      const known = kept.find(frame, format);
      if (mustExist && known?.isComplete !== true) return undefined;
      const file = known ?? start(frame, contents, format);
      file.users += 1;
      kept.use(file);
      try {
        return openEncoded(await orAborted(file.encoded, signal), () => release(file));
      } catch (error) {
        release(file);
        throw error;
      }
    },
    remove: (frame) => kept.retire(frame),
    async close() {
      const files = kept.all();
      for (const file of files) {
        file.cancel.abort(new ServiceError('unavailable', 'The server is stopping.'));
        kept.remove(file);
      }
      await Promise.allSettled(files.map(({ encoded }) => encoded));
    },
  };
}

function openEncoded({ file, bytes, version }: EncodedFile, onClose: () => void): FrameFile {
  let isOpen = true;
  return {
    bytes,
    version,
    read: (range, signal) => readRange(file, range, { signal, reuseBuffers: true }),
    close() {
      if (isOpen) onClose();
      isOpen = false;
    },
  };
}

async function write(
  { unnamed, encode }: EncodedFilesOptions,
  { frame, format, cancel: { signal } }: KeptFile,
  contents: FrameContents,
  onSize: (bytes: number) => void,
): Promise<EncodedFile> {
  const file = await unnamed
    .create(format, async (path) => {
      const stopFollowing = followSize(filesOfEncoding(path), onSize);
      try {
        await encode(frame, contents, { format, path, signal });
      } finally {
        stopFollowing();
      }
    })
    .catch((error: unknown) => {
      signal.throwIfAborted();
      throw toExportError(error, TITLES[format]);
    });
  try {
    const { size: bytes } = await file.stat();
    onSize(bytes);
    signal.throwIfAborted();
    return { file, bytes, version: await versionOf(frame, format, { file, bytes, signal }) };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Identifies the bytes of a file. A row has only one text, but the rows of an Arrow or Parquet file may be grouped
 * differently when the frame is encoded again.
 */
async function versionOf(
  { version }: StoredFrame,
  format: FrameFileFormat,
  { file, bytes, signal }: { readonly file: FileHandle; readonly bytes: number; readonly signal: AbortSignal },
): Promise<string> {
  if (format === 'csv' || format === 'ndjson') return version;
  let checksum = 0;
  for await (const chunk of readRange(file, { start: 0, end: bytes }, { signal, reuseBuffers: true })) {
    checksum = crc32(chunk, checksum);
  }
  return `${version}.${checksum.toString(16).padStart(8, '0')}`;
}

const TITLES: Readonly<Record<FrameFileFormat, string>> = {
  parquet: 'Parquet',
  arrow: 'Arrow',
  csv: 'CSV',
  ndjson: 'NDJSON',
};

function tooMuch(format: FrameFileFormat, maxBytes: number): ServiceError {
  const message = `The ${TITLES[format]} file, and others that are being sent, take more than ${maxBytes} bytes.`;
  return new ServiceError('out_of_disk', message, {
    hint: 'Send the request again later, or raise storage.max_conversion_bytes, or stream the frame with /exp?fmt=arrow.',
  });
}

/** The file of a frame in a format: being encoded, or complete. */
interface KeptFile {
  readonly frame: StoredFrame;
  readonly format: FrameFileFormat;
  /** Cancels the encoding. */
  readonly cancel: AbortController;
  readonly encoded: Promise<EncodedFile>;
  isComplete: boolean;
  /** The bytes that it has by now. */
  bytes: number;
  /** The number of requests that wait for it or read it. */
  users: number;
  idleTimer?: NodeJS.Timeout;
}

/** A complete file. */
interface EncodedFile {
  readonly file: FileHandle;
  readonly bytes: number;
  /** Identifies the bytes. */
  readonly version: string;
}

/** Encoded files in the order of their last use, within a budget of bytes. */
interface KeptFiles {
  find(frame: StoredFrame, format: FrameFileFormat): KeptFile | undefined;
  /** Adds a file, or marks it as used. */
  use(file: KeptFile): void;
  /** Whether a new request would get the file. */
  isCurrent(file: KeptFile): boolean;
  /** Keeps new requests from getting the files of a frame; removes those without users. */
  retire(frame: StoredFrame): void;
  /** Evicts files without users until at most `count` are left and all files fit. Returns whether they do. */
  evict(count?: number): boolean;
  /** Removes a file and closes it. */
  remove(file: KeptFile): void;
  all(): readonly KeptFile[];
}

/** Creates an empty set with a budget of `maxBytes`. */
function createKeptFiles(maxBytes: number): KeptFiles {
  const files = new Set<KeptFile>();
  const current = new Map<string, KeptFile>();

  const isCurrent = (file: KeptFile): boolean => current.get(keyOf(file.frame, file.format)) === file;
  const totalBytes = (): number => [...files].reduce((sum, { bytes }) => sum + bytes, 0);

  function retireFile(file: KeptFile): void {
    if (isCurrent(file)) current.delete(keyOf(file.frame, file.format));
  }

  function remove(file: KeptFile): void {
    files.delete(file);
    retireFile(file);
    clearTimeout(file.idleTimer);
    // A failed encoding has no file, and closing one that was only read loses nothing.
    file.encoded.then((encoded) => encoded.file.close()).catch(() => {});
  }

  return {
    find: (frame, format) => current.get(keyOf(frame, format)),
    use(file) {
      clearTimeout(file.idleTimer);
      if (!files.delete(file)) current.set(keyOf(file.frame, file.format), file);
      files.add(file);
    },
    isCurrent,
    retire(frame) {
      for (const file of files) {
        if (file.frame !== frame) continue;
        retireFile(file);
        if (file.users === 0) remove(file);
      }
    },
    evict(count = Infinity) {
      const idle = [...files].filter(({ users, isComplete }) => users === 0 && isComplete);
      for (const [at, file] of idle.entries()) {
        if (idle.length - at <= count && totalBytes() <= maxBytes) break;
        remove(file);
      }
      return totalBytes() <= maxBytes;
    },
    remove,
    all: () => [...files],
  };
}

function keyOf({ tenant, handle, version }: StoredFrame, format: FrameFileFormat): string {
  return JSON.stringify([tenant, handle, version, format]);
}
