import { abortError, onAbort } from '@svc/errors';
import { type CallSource, createCounts, groupsOf } from './caller-groups.ts';
import type { QueuePlace } from './engine.ts';

/**
 * A counting semaphore. A free permit goes to the source with the fewest permits, then to the one with the least usage: by
 * tenant, then by address, then by connection. Waiters of one source, and those without one, get permits in order of
 * arrival.
 */
export interface Semaphore {
  /** The number of waiters, of all or of one tenant. */
  waiting(tenant?: string): number;
  /**
   * Waits for this many permits (default 1) until the signal is aborted. The function that it returns releases them, once.
   * `onWait` is called if too few are free; `place` returns the current place among the waiters, in order of arrival.
   */
  acquire(
    signal?: AbortSignal,
    onWait?: (place: () => QueuePlace) => void,
    source?: Partial<CallSource>,
    permits?: number,
  ): Promise<() => void>;
  /** Runs a task while holding this many permits (default 1). */
  use<T>(run: () => Promise<T>, signal?: AbortSignal, source?: Partial<CallSource>, permits?: number): Promise<T>;
}

/** Work without a tenant shares as one, and may hold all permits. */
const NO_TENANT = '';

interface Waiter {
  readonly groups: readonly string[];
  readonly wanted: number;
  readonly begin: () => void;
}

/**
 * Creates a semaphore with this number of permits. A tenant holds at most `perTenant` of them (default: all), and no task
 * can have more.
 */
export function createSemaphore(permits: number, perTenant = permits): Semaphore {
  const counts = createCounts();
  const waiters = new Set<Waiter>();
  let free = permits;

  const isAllowed = (groups: readonly string[], wanted: number): boolean =>
    groups[0] === NO_TENANT || counts.runningOf(groups) + wanted <= perTenant;

  /** Takes permits; returns the function that releases them. */
  function take(groups: readonly string[], wanted: number): () => void {
    free -= wanted;
    counts.started(groups, wanted);
    const startMs = performance.now();
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      free += wanted;
      counts.ended(groups, performance.now() - startMs, wanted);
      beginNext();
    };
  }

  /** Begins what there are permits for. No task overtakes one that waits for several of them. */
  function beginNext(): void {
    let allowed = [...waiters];
    for (;;) {
      const next = free > 0 ? counts.first(allowed) : undefined;
      if (next === undefined) return;
      if (isAllowed(next.groups, next.wanted)) {
        if (next.wanted > free) return;
        next.begin();
        allowed = allowed.filter((waiter) => waiter !== next);
      } else {
        allowed = allowed.filter(({ groups: [tenant] }) => tenant !== next.groups[0]);
      }
    }
  }

  async function acquire(
    signal?: AbortSignal,
    onWait?: (place: () => QueuePlace) => void,
    { tenant = NO_TENANT, client }: Partial<CallSource> = {},
    wanted = 1,
  ): Promise<() => void> {
    if (signal?.aborted === true) throw abortError(signal.reason);
    const groups = groupsOf({ tenant, client });
    const most = Math.min(wanted, perTenant);
    if (waiters.size === 0 && free >= most && isAllowed(groups, most)) return take(groups, most);
    return nextPermits(groups, most, signal, onWait);
  }

  function placeOf(waiter: Waiter): QueuePlace {
    const position = [...waiters].indexOf(waiter) + 1;
    return { position: Math.max(position, 1), length: Math.max(waiters.size, 1) };
  }

  function nextPermits(
    groups: readonly string[],
    wanted: number,
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
        wanted,
        begin() {
          leave();
          stopListening();
          resolve(take(groups, wanted));
        },
      };
      const stopListening = onAbort(signal, () => {
        leave();
        reject(abortError(signal?.reason));
        // A task for a single permit holds up no other.
        if (wanted > 1) beginNext();
      });
      waiters.add(waiter);
      counts.came(groups);
      if (isAllowed(groups, wanted)) beginNext();
      if (waiters.has(waiter)) onWait?.(() => placeOf(waiter));
    });
  }

  return {
    waiting: (tenant) => (tenant === undefined ? waiters.size : counts.waitingOf([tenant])),
    acquire,
    async use(run, signal, source, wanted) {
      const done = await acquire(signal, undefined, source, wanted);
      try {
        return await run();
      } finally {
        done();
      }
    },
  };
}
