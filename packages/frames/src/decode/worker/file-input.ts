import { closeSync, openSync, readSync } from 'node:fs';
import { ServiceError } from '@svc/errors';
import type { ByteInput } from '../decode-steps.ts';

/** An input that reads a file on demand, directly into the decoder's buffers. */
export interface FileInput extends ByteInput {
  /** Makes the first `bytes` bytes of the file readable. */
  grow(bytes: number): void;
  /** Closes the file. */
  close(): void;
}

/** Smaller reads are buffered in a window of this size. */
const WINDOW_BYTES = 1 << 16;
/** The chunk size of `next`. */
const CHUNK_BYTES = 1 << 20;

/** Creates an input for a file with no readable bytes yet. */
export function createFileInput(path: string): FileInput {
  const file = openSync(path, 'r');
  let window = new Uint8Array(0);
  let windowAt = 0;
  let readable = 0;
  let position = 0;
  let ended = false;

  function readAt(place: number, target: Uint8Array): void {
    for (let filled = 0; filled < target.length;) {
      const count = readSync(file, target, filled, target.length - filled, place + filled);
      if (count === 0) {
        throw new ServiceError('invalid_data', `The file was truncated to ${place + filled} bytes while it was read.`, {
          hint: 'Do not modify the file in place: write a new one and rename it over the old.',
        });
      }
      filled += count;
    }
  }

  /** Returns the next bytes from the window, at most `length`. */
  function windowed(length: number): Uint8Array {
    const from = position - windowAt;
    if (from >= 0 && from + length <= window.length) return window.subarray(from, from + length);
    window = new Uint8Array(Math.min(WINDOW_BYTES, readable - position));
    windowAt = position;
    readAt(position, window);
    return window.subarray(0, length);
  }

  function take(target: Uint8Array): number {
    const length = Math.min(target.length, readable - position);
    if (length >= WINDOW_BYTES) readAt(position, target.subarray(0, length));
    else if (length > 0) target.set(windowed(length));
    position += length;
    return length;
  }

  return {
    grow(bytes) {
      readable = bytes;
    },
    end() {
      ended = true;
    },
    restart() {
      readable = 0;
      position = 0;
      ended = false;
    },
    get ended() {
      return ended;
    },
    get position() {
      return position;
    },
    next() {
      if (position === readable) return undefined;
      const chunk = new Uint8Array(Math.min(CHUNK_BYTES, readable - position));
      take(chunk);
      return chunk;
    },
    read: (target, at) => take(target.subarray(at)),
    close: () => closeSync(file),
  };
}
