import { onAbort, ServiceError } from '@svc/errors';
import type { Caller, GroupCounts } from './caller-groups.ts';
import { LONG_LEVEL } from './levels.ts';

/** A statement that waits for a place. */
export interface SlotRequest {
  readonly caller: Caller;
  /** For how long it ran before it was interrupted. Default 0: it was not. */
  readonly ranMs?: number;
  /** When it first asked, by a counter of the caller: no two statements have the same. */
  readonly order: number;
}

/** A statement in the line. */
export interface Waiting<T> extends SlotRequest {
  readonly groups: readonly string[];
  readonly level: number;
  /** What it may add to the use of its caller before it is interrupted. */
  readonly costMs: number;
  begin(slot: T): void;
  refuse(error: unknown): void;
}

/** Statements that wait for a place. */
export interface WaitQueue<T> {
  /** The statement of a level that is next, if one waits. */
  first(level: number): Waiting<T> | undefined;
  /** Resolves with what the statement is begun with. A line that is full refuses one of the client with the most. */
  join(request: SlotRequest & Pick<Waiting<T>, 'groups' | 'level' | 'costMs'>, signal: AbortSignal): Promise<T>;
  /** Removes and returns the next statement of the levels that have a place; a preferred one, if there is any. */
  take(hasSlot: (level: number) => boolean, isPreferred: (one: Waiting<T>) => boolean): Waiting<T> | undefined;
}

/** An empty line. */
export function createWaitQueue<T>(counts: GroupCounts, maxQueued: number): WaitQueue<T> {
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

  /** Those that wait, the caller first that has the fewest running statements, and then the least use after this one. */
  function inOrder(isIncluded: (level: number) => boolean): readonly Waiting<T>[] {
    return [...waiting]
      .filter(({ level }) => isIncluded(level))
      .toSorted((a, b) => counts.compare(a.groups, b.groups, a.costMs - b.costMs) || a.order - b.order);
  }

  return {
    first: (level) => inOrder((one) => one === level)[0],
    async join(request, signal) {
      // One that was interrupted had its place in the line.
      if (request.level === 0 && waiting.size >= maxQueued) refuseOne(request.groups);
      return new Promise<T>((resolve, reject) => {
        const one: Waiting<T> = {
          ...request,
          begin(slot) {
            stopListening();
            resolve(slot);
          },
          refuse(error) {
            stopListening();
            reject(error);
          },
        };
        waiting.add(one);
        counts.came(one.groups);
        const stopListening = onAbort(signal, () => {
          leave(one);
          reject(signal.reason);
        });
      });
    },
    take(hasSlot, isPreferred) {
      const allowed = inOrder(hasSlot);
      const preferred = allowed.filter(isPreferred);
      const one = oldestHead(preferred.length > 0 ? preferred : allowed);
      if (one !== undefined) leave(one);
      return one;
    },
  };
}

/** The one that asked first, of the next quick statement and the next one of each long level: so none of these starves. */
function oldestHead<T>(line: readonly Waiting<T>[]): Waiting<T> | undefined {
  const heads = new Map<number, Waiting<T>>();
  for (const one of line) {
    const band = Math.max(one.level, LONG_LEVEL - 1);
    if (!heads.has(band)) heads.set(band, one);
  }
  return [...heads.values()].toSorted((a, b) => a.order - b.order)[0];
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
