import { ServiceError } from '@svc/errors';
import { type ByteBudget, createByteBudget } from '../byte-budget.ts';
import { type MemoryShare, resizeShare } from './worker/memory-shares.ts';

/** The maximum number of columns of an uploaded frame, including nested fields. */
export const MAX_COLUMNS = 10_000;

/** The maximum nesting depth of an uploaded frame. */
export const MAX_DEPTH = 32;

/** Creates a budget that counts the bytes of a frame before they are allocated, also in the share of its worker. */
export function createFrameBudget(maxBytes: number, share?: MemoryShare): ByteBudget {
  return createByteBudget(
    maxBytes,
    () => new ServiceError('out_of_memory', `The frame needs more than the ${maxBytes} bytes that are free for it.`),
    share && ((bytes) => resizeShare(share, bytes)),
  );
}

/** Allocates memory of an untrusted size: if that fails, the error is `out_of_memory` and not `internal`. */
export function allocate(bytes: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(bytes);
  } catch (error) {
    throw new ServiceError('out_of_memory', `The frame needs a buffer of ${bytes} bytes, which cannot be allocated.`, {
      cause: error,
    });
  }
}

/** Takes bytes from a budget and allocates them. */
export function allocateCounted(budget: ByteBudget, bytes: number): Uint8Array<ArrayBuffer> {
  budget.take(bytes);
  return allocate(bytes);
}
