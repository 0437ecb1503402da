import type { ServiceError } from '@svc/errors';

/** Bytes that may be taken, up to a limit that is never exceeded. */
export interface ByteBudget {
  readonly maxBytes: number;
  readonly usedBytes: number;
  readonly freeBytes: number;
  /** Takes so many bytes, or fails and takes none. */
  take(bytes: number): void;
  /** Gives bytes back. */
  free(bytes: number): void;
}

/**
 * A budget of `maxBytes`; `refusal` is the error of who takes more. `resize` hears of what is used before that changes,
 * and refuses it by an error.
 */
export function createByteBudget(
  maxBytes: number,
  refusal: (budget: ByteBudget) => ServiceError,
  resize: (usedBytes: number) => void = () => undefined,
): ByteBudget {
  let usedBytes = 0;
  const budget: ByteBudget = {
    maxBytes,
    get usedBytes() {
      return usedBytes;
    },
    get freeBytes() {
      return maxBytes - usedBytes;
    },
    take: (bytes) => {
      if (usedBytes + bytes > maxBytes) throw refusal(budget);
      resize(usedBytes + bytes);
      usedBytes += bytes;
    },
    free: (bytes) => {
      resize(usedBytes - bytes);
      usedBytes -= bytes;
    },
  };
  return budget;
}
