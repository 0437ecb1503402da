import { closeSync, openSync, readSync, unlinkSync, writevSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * An unlinked file that the parent and its engine child both hold open. Long batches go through the file; the pipe carries
 * only their positions. Node reads a pipe in buffers of 64 KiB, each allocated separately, and collecting those takes longer
 * than all other work on a batch.
 */
export interface BatchFile {
  /** The descriptor that the child inherits. */
  readonly descriptor: number;
  /** A batch that the child has written to the file. */
  arrived(place: number, length: number, free: () => void): ArrivedBatch;
  /** Closes the file once every batch in it has been taken. */
  close(): void;
}

/** A batch received from a child. Take it or drop it, once. */
export interface ArrivedBatch {
  /** Returns the payload. A batch in the file is read into `memory`, of `PLACE_BYTES`. Default: a new buffer. */
  take(memory?: () => ArrayBuffer): ArrayBuffer;
  drop(): void;
}

/** The number of batches the file holds at once. Further ones go over the pipe. */
const PLACES = 8;
/** The longest batch that goes through the file. */
export const PLACE_BYTES: number = 4 * 1024 * 1024;
/** The shortest batch that goes through the file; the pipe is faster for shorter ones. */
const MIN_BYTES = 64 * 1024;

/** A memory file system first: elsewhere the kernel may write these short-lived pages to disk. */
const DIRECTORIES = ['/dev/shm', tmpdir()];

/** Creates the file, or returns undefined if none can be created. */
export function openBatchFile(): BatchFile | undefined {
  // Windows passes on no descriptors beyond stdio.
  if (process.platform === 'win32') return undefined;
  for (const directory of DIRECTORIES) {
    const descriptor = openUnnamed(join(directory, `svc-batches-${process.pid}-${Math.random()}`));
    if (descriptor !== undefined) return createBatchFile(descriptor);
  }
  return undefined;
}

function openUnnamed(path: string): number | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    return descriptor;
  } catch {
    if (descriptor !== undefined) closeSync(descriptor);
    return undefined;
  }
}

function createBatchFile(descriptor: number): BatchFile {
  let waiting = 0;
  let isClosing = false;
  const closeIfDone = (): void => {
    if (isClosing && waiting === 0) closeSync(descriptor);
  };
  return {
    descriptor,
    arrived(place, length, free) {
      waiting++;
      const drop = (): void => {
        waiting--;
        free();
        closeIfDone();
      };
      return {
        take(memory) {
          try {
            const payload = memory?.() ?? Buffer.allocUnsafeSlow(length).buffer;
            const read = readSync(descriptor, new Uint8Array(payload), 0, length, place * PLACE_BYTES);
            if (read < length) throw new Error('A batch in the file is truncated.');
            return payload;
          } finally {
            drop();
          }
        },
        drop,
      };
    },
    close() {
      if (isClosing) return;
      isClosing = true;
      closeIfDone();
    },
  };
}

/** The child's side of the file. */
export interface BatchPlaces {
  /** Writes a payload to the file and returns its place, or undefined if it does not fit. */
  put(parts: readonly Uint8Array[], length: number): number | undefined;
  /** Marks a place as free. */
  free(place: number): void;
}

/** The places of an inherited file, all free. */
export function createBatchPlaces(descriptor: number): BatchPlaces {
  // LIFO: the place freed last is the most likely to be in the CPU cache.
  const free = Array.from({ length: PLACES }, (_, place) => place);
  return {
    put(parts, length) {
      const place = length >= MIN_BYTES && length <= PLACE_BYTES ? free.pop() : undefined;
      if (place === undefined || isWritten(descriptor, parts, length, place * PLACE_BYTES)) return place;
      free.push(place);
      return undefined;
    },
    free: (place) => void free.push(place),
  };
}

/** Returns false if the write fails, for example because the disk is full. */
function isWritten(descriptor: number, parts: readonly Uint8Array[], length: number, position: number): boolean {
  try {
    return writevSync(descriptor, parts, position) === length;
  } catch {
    return false;
  }
}
