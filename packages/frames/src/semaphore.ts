import { abortError, onAbort } from '@svc/errors';
import { type CallSource, createCounts, groupsOf } from './caller-groups.ts';
import type { QueuePlace } from './engine.ts';

/**
 * A counting semaphore. A free permit goes to the source with the fewest permits, then to the one with the least usage: by
 * tenant, then by address, then by connection. Waiters of one source, and those without one, get permits in order of
 * arrival.
 */
export interface Semaphore {
  /** The number of waiters. */
  waiting(): number;
  /**
   * Waits for a permit until the signal is aborted. The function that it returns releases the permit, once. `onWait` is
   * called if there is no free permit; `place` returns the current place among the waiters, in order of arrival.
   */
  acquire(
    signal?: AbortSignal,
    onWait?: (place: () => QueuePlace) => void,
    source?: Partial<CallSource>,
  ): Promise<() => void>;
  /** Runs a task while holding one permit. */
  use<T>(run: () => Promise<T>, signal?: AbortSignal, source?: Partial<CallSource>): Promise<T>;
}

/** Work without a tenant shares as one, and may hold all permits. */
const NO_TENANT = '';

interface Waiter {
  readonly groups: readonly string[];
  readonly begin: () => void;
}

/**
 * Creates a semaphore with this number of permits. A tenant holds at most `perTenant` of them. Default: all.
 */
export function createSemaphore(permits: number, perTenant = permits): Semaphore {
  const counts = createCounts();
  const waiters = new Set<Waiter>();
  let free = permits;

  const isAllowed = (groups: readonly string[]): boolean =>
    groups[0] === NO_TENANT || counts.runningOf(groups) < perTenant;

  /** Takes a permit; returns the function that releases it. */
  function take(groups: readonly string[]): () => void {
    free--;
    counts.started(groups);
    const startMs = performance.now();
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      free++;
      counts.ended(groups, performance.now() - startMs);
      counts.first([...waiters].filter((waiter) => isAllowed(waiter.groups)))?.begin();
    };
  }

  async function acquire(
    signal?: AbortSignal,
    onWait?: (place: () => QueuePlace) => void,
    { tenant = NO_TENANT, client }: Partial<CallSource> = {},
  ): Promise<() => void> {
    if (signal?.aborted === true) throw abortError(signal.reason);
    const groups = groupsOf({ tenant, client });
    if (free > 0 && isAllowed(groups)) return take(groups);
    return nextPermit(groups, signal, onWait);
  }

  function placeOf(waiter: Waiter): QueuePlace {
    const position = [...waiters].indexOf(waiter) + 1;
    return { position: Math.max(position, 1), length: Math.max(waiters.size, 1) };
  }

  function nextPermit(
    groups: readonly string[],
    signal: AbortSignal | undefined,
    onWait: ((place: () => QueuePlace) => void) | undefined,
  ): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiters.delete(waiter);
        counts.left(groups);
      };
      const waiter: Waiter = {
        groups,
        begin() {
          leave();
          stopListening();
          resolve(take(groups));
        },
      };
      waiters.add(waiter);
      counts.came(groups);
      onWait?.(() => placeOf(waiter));
      const stopListening = onAbort(signal, () => {
        leave();
        reject(abortError(signal?.reason));
      });
    });
  }

  return {
    waiting: () => waiters.size,
    acquire,
    async use(run, signal, source) {
      const done = await acquire(signal, undefined, source);
      try {
        return await run();
      } finally {
        done();
      }
    },
  };
}
