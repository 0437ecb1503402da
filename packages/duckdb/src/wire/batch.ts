import { closeSync, openSync, readSync, unlinkSync, writevSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A batch on the pipe: a head of 32-bit words (their count, then values whose meaning follows from the column types),
 * then buffers, each aligned to 8 bytes for a view as any typed array.
 */
export interface BatchWriter {
  word(value: number): void;
  /** A buffer; its length goes into the head. */
  buffer(bytes: Uint8Array): void;
  /** The parts of the payload, in order. */
  finish(): { readonly parts: readonly Uint8Array[]; readonly length: number };
}

/** Reads values in the order of the `BatchWriter`. */
export interface BatchReader {
  word(): number;
  buffer(): Uint8Array<ArrayBuffer>;
}

const PADDING = new Uint8Array(8);

/** A writer of one batch. Buffers are not copied. */
export function createBatchWriter(): BatchWriter {
  const words: number[] = [];
  const buffers: Uint8Array[] = [];
  let bodyBytes = 0;
  return {
    word(value) {
      words.push(value);
    },
    buffer(bytes) {
      words.push(bytes.length);
      if (bytes.length === 0) return;
      const padding = -bytes.length & 7;
      buffers.push(bytes);
      if (padding > 0) buffers.push(PADDING.subarray(0, padding));
      bodyBytes += bytes.length + padding;
    },
    finish() {
      // An odd number of words plus the count aligns the body to 8 bytes.
      if (words.length % 2 === 0) words.push(0);
      const head = new Uint32Array(words.length + 1);
      head[0] = words.length;
      head.set(words, 1);
      return { parts: [new Uint8Array(head.buffer), ...buffers], length: head.byteLength + bodyBytes };
    },
  };
}

/** A reader of a payload. */
export function createBatchReader(payload: ArrayBuffer): BatchReader {
  const count = new Uint32Array(payload, 0, 1)[0] ?? 0;
  const words = new Uint32Array(payload, 4, count);
  let next = 0;
  let at = 4 * (count + 1);
  function word(): number {
    const value = words[next++];
    if (value === undefined) throw new Error('A batch on the pipe does not match its column types.');
    return value;
  }
  return {
    word,
    buffer() {
      const length = word();
      const bytes = new Uint8Array(payload, length === 0 ? 0 : at, length);
      at += length + (-length & 7);
      return bytes;
    },
  };
}

/** Views bytes of a `BatchReader` as an array of another type. */
export function arrayOver<A>(
  type: { new (buffer: ArrayBuffer, byteOffset: number, length: number): A; readonly BYTES_PER_ELEMENT: number },
  bytes: Uint8Array<ArrayBuffer>,
): A {
  return new type(bytes.buffer, bytes.byteOffset, bytes.length / type.BYTES_PER_ELEMENT);
}

/**
 * An unlinked file, held open by the parent and its child. Long batches go through the file; the pipe carries
 * only their positions. Node reads a pipe in buffers of 64 KiB, each allocated separately, and collecting those takes longer
 * than all other work on a batch.
 */
export interface BatchFile {
  /** The descriptor inherited by the child. */
  readonly descriptor: number;
  /** A batch written to the file by the child. */
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
/** The longest batch in the file. */
export const PLACE_BYTES: number = 4 * 1024 * 1024;
/** The shortest batch in the file; the pipe is faster for shorter ones. */
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
