import { ServiceError } from '@svc/errors';
import { type ByteBudget, createByteBudget } from '../byte-budget.ts';

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

/**
 * One worker's share of a common memory limit, in the form that is sent to it. Only one thread uses a share at a time.
 */
export interface MemoryShare {
  readonly maxBytes: number;
  /** The size of every share, in pages, so it fits in an `Int32Array`. */
  readonly pages: Int32Array<SharedArrayBuffer>;
  /** The index of this share. */
  readonly index: number;
}

const PAGE_BYTES = 4096;

/** Creates `count` shares of `maxBytes`. */
export function createMemoryShares(maxBytes: number, count: number): MemoryShare[] {
  const pages = new Int32Array(new SharedArrayBuffer(4 * count));
  return Array.from({ length: count }, (_, index) => ({ maxBytes, pages, index }));
}

/** Returns the share a worker was started with. */
export function asMemoryShare(data: unknown): MemoryShare {
  if (!isMemoryShare(data)) throw new TypeError('The decode worker was started without its share of the memory.');
  return data;
}

function isMemoryShare(data: unknown): data is MemoryShare {
  if (typeof data !== 'object' || data === null) return false;
  const { maxBytes, pages, index }: Partial<Record<keyof MemoryShare, unknown>> = data;
  return typeof maxBytes === 'number' && pages instanceof Int32Array && typeof index === 'number';
}

/**
 * Sets the size of a share in bytes. If all shares together would exceed the limit, it throws and changes nothing.
 * There is no total counter: a thread that is terminated at any point leaves only its own share behind. Two threads
 * that together ask for more than is free may both be refused.
 */
export function resizeShare({ maxBytes, pages, index }: MemoryShare, bytes: number): void {
  if (maxBytes === Infinity) return;
  const before = Atomics.load(pages, index);
  const wanted = Math.ceil(bytes / PAGE_BYTES);
  if (wanted === before) return;
  const most = Math.min(maxBytes / PAGE_BYTES, 2 ** 31 - 1);
  if (wanted > before && wanted > most) throw tooMuch(maxBytes);
  // Store before summing: of two concurrent threads, at least the later one sees the other.
  Atomics.store(pages, index, wanted);
  if (wanted > before && sumOf(pages) > most) {
    Atomics.store(pages, index, before);
    throw tooMuch(maxBytes);
  }
}

/** Returns the size of a share in bytes, in whole pages. */
export function bytesOfShare({ pages, index }: MemoryShare): number {
  return Atomics.load(pages, index) * PAGE_BYTES;
}

function sumOf(pages: Int32Array<SharedArrayBuffer>): number {
  let sum = 0;
  for (let i = 0; i < pages.length; i++) sum += Atomics.load(pages, i);
  return sum;
}

function tooMuch(maxBytes: number): ServiceError {
  return new ServiceError('out_of_memory', `The uploads being decoded need more than ${maxBytes} bytes together.`, {
    hint: 'Retry when other uploads have finished, or send smaller parts.',
  });
}
