import { onAbort, ServiceError } from '@svc/errors';
import type { QueuePlace } from '@svc/frames';
import type { CallSource, GroupCounts } from '@svc/frames/internal';
import { LONG_LEVEL } from './levels.ts';

/** A request for a slot. */
export interface SlotRequest {
  readonly caller: CallSource;
  /** How long the statement ran before it was interrupted. Default 0: it was not. */
  readonly ranMs?: number;
  /** The order of arrival: unique for each statement, and the same when it waits again. */
  readonly order: number;
  /** Called if it must wait; `place` returns its current place. */
  readonly onWait?: ((place: () => QueuePlace) => void) | undefined;
}

/** A statement in the queue. */
export interface Waiting<T> extends SlotRequest {
  readonly groups: readonly string[];
  readonly level: number;
  /** What it may add to the usage of its caller before it is interrupted. */
  readonly costMs: number;
  begin(slot: T): void;
  refuse(error: unknown): void;
}

/** The queue of statements that wait for a slot. */
export interface WaitQueue<T> {
  /** The next statement of a level, if one waits. */
  first(level: number): Waiting<T> | undefined;
  /** Resolves with the slot. If the queue is full, a statement of the client with the most waiting ones is refused. */
  join(request: SlotRequest & Pick<Waiting<T>, 'groups' | 'level' | 'costMs'>, signal: AbortSignal): Promise<T>;
  /** Removes and returns the next statement with a slot; a preferred one, if there is any. */
  take(hasSlot: (one: Waiting<T>) => boolean, isPreferred: (one: Waiting<T>) => boolean): Waiting<T> | undefined;
}

/** Creates an empty queue. */
export function createWaitQueue<T>(counts: GroupCounts, maxQueued: number): WaitQueue<T> {
  const waiting = new Set<Waiting<T>>();

  function leave(one: Waiting<T>): void {
    waiting.delete(one);
    counts.left(one.groups);
  }

  /** Makes room for a client with fewer waiting statements: refuses the newest one of the client with the most. */
  function refuseOne(groups: readonly string[]): void {
    const crowd = counts.mostWaiting(groups);
    const newest = [...waiting].findLast((one) => crowd !== undefined && one.groups.includes(crowd));
    if (newest === undefined) throw tooMany(maxQueued);
    leave(newest);
    newest.refuse(tooManyOfOne());
  }

  /**
   * Sorts the waiting statements: the caller with the fewest running ones first, then the one with the least usage
   * after this one.
   */
  function inOrder(isIncluded: (one: Waiting<T>) => boolean): readonly Waiting<T>[] {
    return [...waiting]
      .filter(isIncluded)
      .toSorted((a, b) => counts.compare(a.groups, b.groups, a.costMs - b.costMs) || a.order - b.order);
  }

  /** Returns the place of a statement among those of all levels. */
  function placeOf(one: Waiting<T>): QueuePlace {
    const position = inOrder(() => true).indexOf(one) + 1;
    return { position: Math.max(position, 1), length: Math.max(waiting.size, 1) };
  }

  return {
    first: (level) => inOrder((one) => one.level === level)[0],
    async join(request, signal) {
      // An interrupted statement was admitted before.
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
        request.onWait?.(() => placeOf(one));
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

/**
 * Of the next quick statement and the next one of each long level, returns the one that arrived first, so that none
 * starves.
 */
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
    'All SQL engines are busy, and this client has the most waiting statements.',
  );
}

function tooMany(maxQueued: number): ServiceError {
  const waiting = maxQueued === 0 ? 'and no statement may wait' : `and ${maxQueued} statements are waiting already`;
  return new ServiceError('too_many_requests', `All SQL engines are busy, ${waiting}.`);
}
