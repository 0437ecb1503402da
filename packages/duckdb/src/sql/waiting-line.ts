import { ServiceError } from '@svc/errors';
import type { Asker, GroupCounts } from './asker-groups.ts';

/** A statement that waits for a place. */
export interface TurnRequest {
  readonly asker: Asker;
  /** It was interrupted before. */
  readonly isLong?: boolean;
  /** When it first asked, by the counter of whoever asks. */
  readonly order: number;
}

interface Waiting<T> extends TurnRequest {
  readonly groups: readonly string[];
  begin(turn: T): void;
  refuse(error: unknown): void;
}

/** Statements that wait for a place. */
export interface WaitingLine<T> {
  hasShort(): boolean;
  /** Resolves with what the statement is begun with. A line that is full refuses one of the client with the most. */
  join(request: TurnRequest, groups: readonly string[], signal: AbortSignal): Promise<T>;
  /** The next one, which then no longer waits. */
  take(isForShort: boolean, isLongAllowed: boolean): Waiting<T> | undefined;
}

/** Nobody waits. */
export function createWaitingLine<T>(counts: GroupCounts, maxQueued: number): WaitingLine<T> {
  const waiting = new Set<Waiting<T>>();

  function leave(one: Waiting<T>): void {
    waiting.delete(one);
    counts.left(one.groups);
  }

  /** Lets a client with fewer waiting statements in; the newest of the client that has the most goes. */
  function refuseOne(groups: readonly string[]): void {
    const crowd = counts.mostWaiting(groups);
    const newest = [...waiting].findLast((one) => crowd !== undefined && one.groups.includes(crowd));
    if (newest === undefined) throw tooMany(maxQueued);
    leave(newest);
    newest.refuse(tooManyOfOne());
  }

  return {
    hasShort: () => [...waiting].some(({ isLong }) => !isLong),
    async join(request, groups, signal) {
      // One that was interrupted had its place in the line.
      if (request.isLong !== true && waiting.size >= maxQueued) refuseOne(groups);
      return new Promise<T>((begin, refuse) => {
        const one: Waiting<T> = { ...request, groups, begin, refuse };
        waiting.add(one);
        counts.came(groups);
        const abort = (): void => {
          if (!waiting.has(one)) return;
          leave(one);
          refuse(signal.reason);
        };
        signal.addEventListener('abort', abort, { once: true });
      });
    },
    take(isForShort, isLongAllowed) {
      const allowed = [...waiting].filter(({ isLong }) => isLongAllowed || !isLong);
      const one = nextOf(allowed, counts, isForShort);
      if (one !== undefined) leave(one);
      return one;
    },
  };
}

/** Who is next: the one who waits longest of those first in line among short and among long statements. */
function nextOf<T>(waiting: readonly Waiting<T>[], counts: GroupCounts, isForShort: boolean): Waiting<T> | undefined {
  const line = waiting.toSorted((a, b) => counts.compare(a.groups, b.groups) || a.order - b.order);
  const short = line.find(({ isLong }) => !isLong);
  const long = line.find(({ isLong }) => isLong);
  if (short === undefined || long === undefined) return short ?? long;
  return isForShort || short.order < long.order ? short : long;
}

function tooManyOfOne(): ServiceError {
  return new ServiceError(
    'too_many_requests',
    'Every engine is busy, and this client has the most statements waiting.',
  );
}

function tooMany(maxQueued: number): ServiceError {
  const waiting = maxQueued === 0 ? 'and none may wait' : `and ${maxQueued} statements wait for one already`;
  return new ServiceError('too_many_requests', `Every engine is busy, ${waiting}.`);
}
