import type { ChildExitReason, RequestOrigin } from '@svc/frames';
import { ChildCrash } from './child-errors.ts';
import { createOomKills, type OomKills } from './oom-kills.ts';

/** How a child ended. */
export interface ChildEnd {
  readonly reason: ChildExitReason;
  /** The requests of clients that it was working on, each once. */
  readonly requests: readonly RequestOrigin[];
}

/** What is known of a request in flight. */
interface Owned {
  readonly origin?: RequestOrigin | undefined;
}

/** The end of a child. */
export interface ChildExit {
  readonly exited: Promise<ChildEnd>;
  /** The error of requests, once the child is gone or must go. */
  readonly crash: ChildCrash | undefined;
  /**
   * Sets why the child is about to end; the first reason counts. Undefined: it has one already, or is about to end by
   * itself.
   */
  plan(reason: ChildExitReason | undefined, error?: ChildCrash): void;
  /** The child is gone. Without a plan, it has crashed. Returns the error of its requests, those in flight. */
  over(reason: string, lastWords: string, signal: NodeJS.Signals | null, inFlight: readonly Owned[]): ChildCrash;
}

/** Shared by all children: the system counts the kills of the whole group. */
let oomKills: OomKills | undefined;

/** Creates the end of a child that was just started. */
export function createChildExit(): ChildExit {
  const kills = (oomKills ??= createOomKills());
  let crash: ChildCrash | undefined;
  let planned: ChildExitReason | undefined;
  let settle = (_end: ChildEnd): void => undefined;
  const exited = new Promise<ChildEnd>((resolve) => (settle = resolve));
  return {
    exited,
    get crash() {
      return crash;
    },
    plan(reason, error) {
      planned ??= reason;
      crash ??= error;
    },
    over(reason, lastWords, signal, inFlight) {
      crash ??= new ChildCrash(reason, lastWords, { isOomKill: signal === 'SIGKILL' && kills.claim() });
      const requests = originsOf(inFlight);
      settle({ reason: planned ?? (crash.isOutOfMemory ? 'out_of_memory' : 'crashed'), requests });
      return crash;
    },
  };
}

function originsOf(inFlight: readonly Owned[]): readonly RequestOrigin[] {
  const origins = inFlight.flatMap(({ origin }) => (origin === undefined ? [] : [origin]));
  return [...new Map(origins.map((origin) => [origin.requestId, origin])).values()];
}
