import type { ChildFailure } from '../wire/file-requests.ts';

/** Why a request failed that a child answered. */
export class ChildError extends Error {
  readonly failure: ChildFailure;

  constructor(failure: ChildFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** A child ended while it worked on a request. */
export class ChildCrash extends Error {
  readonly isOutOfMemory: boolean;
  /** Whether it was ended because it did not answer any more. */
  readonly hasHung: boolean;

  constructor(reason: string, lastWords: string, hasHung = false) {
    super(`The engine child ended (${reason}): ${lastWords}`);
    this.hasHung = hasHung;
    this.isOutOfMemory = /out of memory|bad_alloc|cannot allocate|allocation failed/i.test(lastWords);
  }
}

/** Whether a child found no memory for what it was asked, and lives. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof ChildError && /^out of memory error|failed to allocate|bad_alloc/i.test(error.message);
}

/**
 * Whether DuckDB failed in a way that should not happen. It then refuses every later statement, so the child must be
 * replaced. Anchored: the message of an ordinary error may quote such words from the data.
 */
export function isBroken(error: unknown): boolean {
  return error instanceof ChildError && /^(?:INTERNAL|FATAL) Error/.test(error.message);
}

/** Whether an earlier failure of another request made DuckDB refuse this one, which may succeed on a new child. */
export function isBrokenByAnother(error: unknown): boolean {
  return isBroken(error) && error instanceof Error && /database has been invalidated/.test(error.message);
}

/** Whether a failure is of the engine or of the request, and says nothing about the file that was read. */
export function isOfTheEngine(error: unknown): boolean {
  if (error instanceof ChildCrash) return true;
  return isBroken(error) || isOutOfMemory(error) || (error instanceof ChildError && error.failure.code === 'cancelled');
}
