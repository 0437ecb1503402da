/**
 * Waiting: limits of time and of calls at a time. Like all of `internal/`, not part of the public API.
 *
 * ```ts
 * import { createYield } from '@svc/frames/async';
 *
 * const yieldIfDue = createYield();
 * for (let i = 0; i < 1e6; i++) await yieldIfDue();
 * ```
 */
export {
  createTimeLimit,
  createYield,
  type Resolvers,
  type TimeLimit,
  type TimeLimitOptions,
  withResolvers,
} from '../async.ts';
export { isCancelled, withSpan } from '../call.ts';
export {
  type CallSource,
  createCounts,
  createSemaphore,
  type GroupCounts,
  groupsOf,
  type Semaphore,
  tenantShare,
} from '../semaphore.ts';
