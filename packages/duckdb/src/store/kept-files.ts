import type { FileHandle } from 'node:fs/promises';
import type { FrameFileFormat } from '@svc/frames';
import type { StoredFrame } from './catalogue/stored-frame.ts';

/** The file of a frame in a format: being encoded, or complete. */
export interface KeptFile {
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
export interface EncodedFile {
  readonly file: FileHandle;
  readonly bytes: number;
  /** Identifies the bytes. */
  readonly version: string;
}

/** Encoded files in the order of their last use, within a budget of bytes. */
export interface KeptFiles {
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
export function createKeptFiles(maxBytes: number): KeptFiles {
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
