import { ServiceError } from '@svc/errors';
import { type ByteBudget, createByteBudget } from '../byte-budget.ts';
import { type MemoryShare, resizeShare } from './worker/memory-shares.ts';

/** Columns an uploaded frame may have; fields inside of structs and lists count too. */
export const MAX_COLUMNS = 10_000;

/** How deep lists and structs of an uploaded frame may be nested. */
export const MAX_DEPTH = 32;

/** Counts the bytes of a frame while it is decoded, before they are allocated: its own, and in the share of its worker. */
export function createFrameBudget(maxBytes: number, share?: MemoryShare): ByteBudget {
  return createByteBudget(
    maxBytes,
    () => new ServiceError('out_of_memory', `The frame takes more than the ${maxBytes} bytes that are free for it.`),
    share && ((bytes) => resizeShare(share, bytes)),
  );
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

/** Memory that is taken from a budget first. */
export function allocateCounted(budget: ByteBudget, bytes: number): Uint8Array<ArrayBuffer> {
  budget.take(bytes);
  return allocate(bytes);
}
