/**
 * Streams of bytes and batches, and the memory they may use.
 *
 * ```ts
 * import { prepend } from '@svc/frames/streams';
 *
 * prepend(['first'], (async function* () { yield 'second'; })());
 * ```
 */
export { type ByteBudget, createByteBudget } from '../byte-budget.ts';
export {
  type CacheBudget,
  createCacheBudget,
  createPinnedLru,
  type Pin,
  type PinnedLru,
  type PinnedLruOptions,
} from '../pinned-lru.ts';
export { RECOGNISED_BYTES } from '../encoding.ts';
export { limitBytes, onEachBatch, prepend, readHead, type StreamHead } from '../streams.ts';
