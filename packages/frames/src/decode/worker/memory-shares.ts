import { ServiceError } from '@svc/errors';

/** A share of the memory that workers have together, as it is sent to one. One thread uses a share at a time. */
export interface MemoryShare {
  readonly maxBytes: number;
  /** What every share takes, in pages: what an `Int32Array` can hold is enough then. */
  readonly pages: Int32Array<SharedArrayBuffer>;
  /** Which of them this share is. */
  readonly index: number;
}

const PAGE_BYTES = 4096;

/** So many shares of `maxBytes` together. */
export function createMemoryShares(maxBytes: number, count: number): MemoryShare[] {
  const pages = new Int32Array(new SharedArrayBuffer(4 * count));
  return Array.from({ length: count }, (_, index) => ({ maxBytes, pages, index }));
}

/**
 * Says how many bytes a share takes from now on; where all shares would exceed the limit, it fails and changes nothing.
 * There is no counter of them all: a thread that is ended at any point leaves nothing behind but its own share. Two that
 * ask at the same moment for more than is left may both be refused.
 */
export function resizeShare({ maxBytes, pages, index }: MemoryShare, bytes: number): void {
  if (maxBytes === Infinity) return;
  const before = Atomics.load(pages, index);
  const wanted = Math.ceil(bytes / PAGE_BYTES);
  if (wanted === before) return;
  const most = Math.min(maxBytes / PAGE_BYTES, 2 ** 31 - 1);
  if (wanted > before && wanted > most) throw tooMuch(maxBytes);
  // Announced before the others are looked at: of two, at least the later one sees the other.
  Atomics.store(pages, index, wanted);
  if (wanted > before && sumOf(pages) > most) {
    Atomics.store(pages, index, before);
    throw tooMuch(maxBytes);
  }
}

/** How many bytes a share takes, in whole pages. */
export function bytesOfShare({ pages, index }: MemoryShare): number {
  return Atomics.load(pages, index) * PAGE_BYTES;
}

function sumOf(pages: Int32Array<SharedArrayBuffer>): number {
  let sum = 0;
  for (let i = 0; i < pages.length; i++) sum += Atomics.load(pages, i);
  return sum;
}

function tooMuch(maxBytes: number): ServiceError {
  return new ServiceError('out_of_memory', `The uploads being decoded take more than ${maxBytes} bytes together.`, {
    hint: 'Send the upload again when others are done, or in smaller parts.',
  });
}
