import type { ServiceError } from '@svc/errors';

/** A budget of bytes with a hard limit. */
export interface ByteBudget {
  readonly maxBytes: number;
  readonly usedBytes: number;
  readonly freeBytes: number;
  /** Takes `bytes`, or throws and takes none. */
  take(bytes: number): void;
  /** Returns bytes to the budget. */
  free(bytes: number): void;
}

/**
 * Creates a budget of `maxBytes`. `refusal` makes the error of a take beyond it. `resize` is called with the new
 * use before each change, and may throw to refuse it.
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
