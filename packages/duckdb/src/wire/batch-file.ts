import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, unlinkSync, writevSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A file without a name that a process and its engine child both have open: long batches go through it, and only where
 * they are goes over the pipe. Node reads a pipe in pieces of 64 KiB, each in memory of its own, and to collect that as
 * garbage takes longer than everything else that is done with a batch.
 */
export interface BatchFile {
  /** As the child inherits it. */
  readonly descriptor: number;
  /** A batch that the child has put into the file. */
  arrived(place: number, length: number, free: () => void): ArrivedBatch;
  /** Closes the file as soon as every batch in it was taken. */
  close(): void;
}

/** A batch that has come from a child, to be taken or dropped once. */
export interface ArrivedBatch {
  /** Its payload. One that comes through the file is put into `memory`, of `PLACE_BYTES`. Default: memory of its own. */
  take(memory?: () => ArrayBuffer): ArrayBuffer;
  drop(): void;
}

/** So many batches can be in the file at once. Others go over the pipe. */
const PLACES = 8;
/** The longest batch that goes through the file. */
export const PLACE_BYTES: number = 2 * 1024 * 1024;
/** A shorter one is over the pipe sooner. */
const MIN_BYTES = 64 * 1024;

/** Memory first: elsewhere the system may write to disk what nobody will ever look for there. */
const DIRECTORIES = ['/dev/shm', tmpdir()];

/** A new file; undefined where there can be none. */
export function openBatchFile(): BatchFile | undefined {
  // There a process inherits no other files than the first three.
  if (process.platform === 'win32') return undefined;
  for (const directory of DIRECTORIES) {
    const descriptor = openUnnamed(join(directory, `svc-batches-${randomUUID()}`));
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
            if (read < length) throw new Error('A batch in the file is shorter than it should be.');
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

/** The file as the child sees it. */
export interface BatchPlaces {
  /** Puts a payload into the file, and says where; undefined where it cannot be there. */
  put(parts: readonly Uint8Array[], length: number): number | undefined;
  /** A batch was taken out of its place. */
  free(place: number): void;
}

/** The places of a file that the child has inherited, all free. */
export function createBatchPlaces(descriptor: number): BatchPlaces {
  // The one that was free last comes first: its memory is the likeliest to be at hand.
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

/** False where there is no room left, for one. */
function isWritten(descriptor: number, parts: readonly Uint8Array[], length: number, position: number): boolean {
  try {
    return writevSync(descriptor, parts, position) === length;
  } catch {
    return false;
  }
}
