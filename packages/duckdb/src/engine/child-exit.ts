import type { ChildExitReason } from '@svc/frames';
import { ChildCrash } from './child-errors.ts';

/** The end of a child. */
export interface ChildExit {
  readonly exited: Promise<ChildExitReason>;
  /** The error of requests, once the child is gone or must go. */
  readonly crash: ChildCrash | undefined;
  /**
   * Sets why the child is about to end; the first reason counts. Undefined: it has one already, or is about to end by
   * itself.
   */
  plan(reason: ChildExitReason | undefined, error?: ChildCrash): void;
  /** The child is gone. Without a plan, it has crashed. Returns the error of its requests. */
  over(reason: string, lastWords: string): ChildCrash;
}

/** Creates the end of a child that was just started. */
export function createChildExit(): ChildExit {
  let crash: ChildCrash | undefined;
  let planned: ChildExitReason | undefined;
  let settle = (_reason: ChildExitReason): void => undefined;
  const exited = new Promise<ChildExitReason>((resolve) => (settle = resolve));
  return {
    exited,
    get crash() {
      return crash;
    },
    plan(reason, error) {
      planned ??= reason;
      crash ??= error;
    },
    over(reason, lastWords) {
      crash ??= new ChildCrash(reason, lastWords);
      settle(planned ?? (crash.isOutOfMemory ? 'out_of_memory' : 'crashed'));
      return crash;
    },
  };
}
