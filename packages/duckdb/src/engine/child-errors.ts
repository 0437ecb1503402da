import type { ChildFailure } from '../wire/file-requests.ts';

/** A failure that a child reported. */
export class ChildError extends Error {
  readonly failure: ChildFailure;

  constructor(failure: ChildFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** A child exited during a request. */
export class ChildCrash extends Error {
  readonly isOutOfMemory: boolean;
  /** Whether it was killed because it stopped responding. */
  readonly hasHung: boolean;
  /** Whether the system killed it because the memory of its control group, or of the machine, was used up. */
  readonly isOomKill: boolean;

  constructor(reason: string, lastWords: string, { hasHung = false, isOomKill = false } = {}) {
    super(`The engine child ended (${reason}${isOomKill ? ', out of memory in its cgroup' : ''}): ${lastWords}`);
    this.hasHung = hasHung;
    this.isOomKill = isOomKill;
    this.isOutOfMemory = isOomKill || /out of memory|bad_alloc|cannot allocate|allocation failed/i.test(lastWords);
  }
}

/** What to do about `isOomKill`. */
export const OOM_KILL_HINT =
  'Sending it again will not help. Ask for less at once, or give the server more memory: the operator can raise the limit of its container or service, or lower storage.cache_size_gb, sql.memory_gb and sql.max_concurrent.';

/** Whether a request ran out of memory in a child that is still alive. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof ChildError && /^out of memory error|failed to allocate|bad_alloc/i.test(error.message);
}

/**
 * Whether DuckDB reported an internal or fatal error. It then refuses every later statement, so the child must be
 * replaced. The pattern is anchored: the message of an ordinary error may quote these words from the data.
 */
export function isBroken(error: unknown): boolean {
  return error instanceof ChildError && /^(?:INTERNAL|FATAL) Error/.test(error.message);
}

/** Whether DuckDB refused this request because an earlier one broke it. It may succeed on a new child. */
export function isBrokenByAnother(error: unknown): boolean {
  return isBroken(error) && error instanceof Error && /database has been invalidated/.test(error.message);
}

/** Whether the engine or the request caused a failure, which then says nothing about the file that was read. */
export function isOfTheEngine(error: unknown): boolean {
  if (error instanceof ChildCrash) return true;
  return isBroken(error) || isOutOfMemory(error) || (error instanceof ChildError && error.failure.code === 'cancelled');
}
