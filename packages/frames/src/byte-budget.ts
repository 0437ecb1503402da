import { ServiceError } from '@svc/errors';

/** Bytes that may be taken, up to a limit that is never exceeded. */
export interface ByteBudget {
  readonly usedBytes: number;
  readonly freeBytes: number;
  /** Takes so many bytes, or fails with `out_of_memory` and takes none. */
  take(bytes: number): void;
  free(bytes: number): void;
}

/** A budget of `maxBytes`. */
export function createByteBudget(maxBytes: number): ByteBudget {
  let usedBytes = 0;
  return {
    get usedBytes() {
      return usedBytes;
    },
    get freeBytes() {
      return maxBytes - usedBytes;
    },
    take: (bytes) => {
      if (usedBytes + bytes > maxBytes) {
        throw new ServiceError(
          'out_of_memory',
          `The frame does not fit: ${maxBytes} bytes are set aside for frames and ${usedBytes} of them are in use.`,
        );
      }
      usedBytes += bytes;
    },
    free: (bytes) => {
      usedBytes -= bytes;
    },
  };
}
