import { abortError, onAbort } from '@svc/errors';
import type { Call } from './call.ts';
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
   * Waits for this many permits (default 1) until the signal is aborted. The function it returns releases them, once.
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

/** The source of a request, for a fair share of a scarce resource. */
export type CallSource = Pick<Call, 'tenant' | 'client'>;

/** Returns the groups a source belongs to, from the largest to the smallest: tenant, address, connection. */
export function groupsOf({ tenant, client }: CallSource): readonly string[] {
  const address = client?.address ?? '';
  return [tenant, JSON.stringify([tenant, address]), JSON.stringify([tenant, address, client?.connection ?? ''])];
}

/** The most slots of one tenant: a quarter is left, so the first request of another one does not wait for it. */
export function tenantShare(slots: number): number {
  return Math.max(1, Math.floor((3 * slots) / 4));
}

interface Count {
  /** Slots. */
  running: number;
  waiting: number;
  /** How many milliseconds the requests of the group have held slots, with a half-life of ten seconds. */
  usedMs: number;
  /** When `usedMs` was updated. */
  countedAt: number;
}

const HALF_LIFE_MS = 10_000;
/** The minimum a request counts for, so callers of very short requests alternate, too. */
const MIN_USE_MS = 1;
/** How many idle groups keep their usage; beyond that, the group that has been idle longest is evicted. */
const MAX_IDLE_GROUPS = 1000;

/** The counts of running and waiting requests. */
export type GroupCounts = ReturnType<typeof createCounts>;

/** Counts the running and waiting requests of each group. `groups` is always a result of `groupsOf`. */
export function createCounts() {
  const counts = new Map<string, Count>();
  /** The usage of idle groups, in LRU order. */
  const idle = new Map<string, Count>();
  /** The subgroups of each group. */
  const inside = new Map<string, Set<string>>();

  function change(groups: readonly string[], by: (count: Count) => void): void {
    groups.forEach((group, i) => {
      const count = counts.get(group) ?? idle.get(group) ?? { running: 0, waiting: 0, usedMs: 0, countedAt: 0 };
      idle.delete(group);
      by(count);
      const outer = groups[i - 1] ?? '';
      const siblings = inside.get(outer) ?? new Set();
      if (count.running + count.waiting > 0) {
        counts.set(group, count);
        inside.set(outer, siblings.add(group));
      } else {
        counts.delete(group);
        siblings.delete(group);
        if (siblings.size === 0) inside.delete(outer);
        remember(group, count);
      }
    });
  }

  function remember(group: string, count: Count): void {
    idle.set(group, count);
    const [oldest] = idle.keys();
    if (idle.size > MAX_IDLE_GROUPS && oldest !== undefined) idle.delete(oldest);
  }

  function waitingOf(group: string): number {
    return counts.get(group)?.waiting ?? 0;
  }

  /**
   * Below 0 if `a` goes before `b`: it holds fewer slots, or as many and has less usage, with `moreMs` added to its own.
   */
  function compare(a: readonly string[], b: readonly string[], moreMs = 0): number {
    // Compare the first level at which they differ.
    const i = a.findIndex((group, at) => group !== b[at]);
    const one = counts.get(a[i] ?? '') ?? NOTHING;
    const other = counts.get(b[i] ?? '') ?? NOTHING;
    const now = performance.now();
    return one.running - other.running || usedAt(one, now) + moreMs - usedAt(other, now);
  }

  return {
    came: (groups: readonly string[]): void => change(groups, (count) => (count.waiting += 1)),
    left: (groups: readonly string[]): void => change(groups, (count) => (count.waiting -= 1)),
    /** Records the start of a request with this many slots. */
    started: (groups: readonly string[], slots = 1): void => change(groups, (count) => (count.running += slots)),
    /** The number of slots of the tenant's running requests. */
    runningOf: ([tenant = '']: readonly string[]): number => counts.get(tenant)?.running ?? 0,
    /** The number of the tenant's waiting requests. */
    waitingOf: ([tenant = '']: readonly string[]): number => waitingOf(tenant),
    /** Records the end of a request that held its slots for this long. */
    ended: (groups: readonly string[], ms: number, slots = 1): void =>
      change(groups, (count) => {
        count.running -= slots;
        const now = performance.now();
        count.usedMs = usedAt(count, now) + slots * Math.max(ms, MIN_USE_MS);
        count.countedAt = now;
      }),
    compare,
    /** The one that goes first, and among equals the one that came first. */
    first<T extends { readonly groups: readonly string[] }>(waiting: Iterable<T>): T | undefined {
      let first: T | undefined;
      for (const one of waiting) if (first === undefined || compare(one.groups, first.groups) < 0) first = one;
      return first;
    },
    /**
     * The sibling of one of these groups with the most waiting requests; undefined if one more would give these the most.
     */
    mostWaiting(groups: readonly string[]): string | undefined {
      for (const [i, group] of groups.entries()) {
        const siblings = [...(inside.get(groups[i - 1] ?? '') ?? [])];
        const [most] = siblings.toSorted((a, b) => waitingOf(b) - waitingOf(a));
        if (most !== undefined && most !== group && waitingOf(most) > waitingOf(group) + 1) return most;
      }
      return undefined;
    },
  };
}

const NOTHING: Readonly<Count> = { running: 0, waiting: 0, usedMs: 0, countedAt: 0 };

function usedAt({ usedMs, countedAt }: Readonly<Count>, now: number): number {
  return usedMs * 2 ** ((countedAt - now) / HALF_LIFE_MS);
}
