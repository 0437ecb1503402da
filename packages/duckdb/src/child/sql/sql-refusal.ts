import type { SqlFailure, UnreadableFrame } from '../../wire/sql-requests.ts';

/** An unknown name, and the known ones. */
export interface UnknownName {
  readonly name: string;
  readonly candidates: readonly string[];
}

/** The refusal of a statement. */
export class SqlRefusal extends Error {
  readonly failure: SqlFailure;
  readonly unknown: UnknownName | undefined;

  constructor(failure: SqlFailure, unknown?: UnknownName) {
    super(failure.message);
    this.failure = failure;
    this.unknown = unknown;
  }
}

/** A statement cannot run because a frame cannot be read. */
export class UnreadableFrameError extends Error {
  readonly failure: UnreadableFrame;

  constructor(failure: UnreadableFrame) {
    super(failure.message);
    this.failure = failure;
  }
}
