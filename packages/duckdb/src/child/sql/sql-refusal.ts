import type { SqlFailure, UnreadableFrame } from '../../wire/sql-requests.ts';

/** A name that does not exist, and those that do. */
export interface UnknownName {
  readonly name: string;
  readonly candidates: readonly string[];
}

/** A statement that is not run, and why. */
export class SqlRefusal extends Error {
  readonly failure: SqlFailure;
  readonly unknown: UnknownName | undefined;

  constructor(failure: SqlFailure, unknown?: UnknownName) {
    super(failure.message);
    this.failure = failure;
    this.unknown = unknown;
  }
}

/** A statement that cannot be run, for a reason that is not its own. */
export class UnreadableFrameError extends Error {
  readonly failure: UnreadableFrame;

  constructor(failure: UnreadableFrame) {
    super(failure.message);
    this.failure = failure;
  }
}
