import { ServiceError } from '@svc/errors';

/** Columns an uploaded frame may have; fields inside of structs and lists count too. */
export const MAX_COLUMNS = 10_000;

/** How deep lists and structs of an uploaded frame may be nested. */
export const MAX_DEPTH = 32;

/** Counts the bytes of a frame while it is decoded, and stops where they are more than the frame may take. */
export interface Budget {
  readonly maxBytes: number;
  /** Bytes counted in and not out again. */
  readonly takenBytes: number;
  /** Counts bytes in, before they are allocated. */
  take(bytes: number): void;
  /** Counts bytes out that the frame turned out not to need. */
  give(bytes: number): void;
}

/** A budget of so many bytes. */
export function createBudget(maxBytes: number): Budget {
  let takenBytes = 0;
  return {
    maxBytes,
    get takenBytes() {
      return takenBytes;
    },
    take(bytes) {
      takenBytes += bytes;
      if (takenBytes > maxBytes) throw outOfMemory(maxBytes);
    },
    give(bytes) {
      takenBytes -= bytes;
    },
  };
}

/** Memory whose size comes from outside: what cannot be had is the caller's `out_of_memory`, not a fault of ours. */
export function allocate(bytes: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(bytes);
  } catch (error) {
    throw new ServiceError('out_of_memory', `The frame needs a buffer of ${bytes} bytes, which cannot be allocated.`, {
      cause: error,
    });
  }
}

function outOfMemory(maxBytes: number): ServiceError {
  return new ServiceError('out_of_memory', `The frame takes more than the ${maxBytes} bytes that are free for it.`);
}
