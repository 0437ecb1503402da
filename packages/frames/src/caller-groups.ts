import type { Call } from './call.ts';

/** The source of a request, for a fair share of a scarce resource. */
export type CallSource = Pick<Call, 'tenant' | 'client'>;

/** Returns the groups that a source belongs to, from the largest to the smallest: tenant, address, connection. */
export function groupsOf({ tenant, client }: CallSource): readonly string[] {
  const address = client?.address ?? '';
  return [tenant, JSON.stringify([tenant, address]), JSON.stringify([tenant, address, client?.connection ?? ''])];
}

/** The most slots of one tenant: a quarter is left, so that the first request of another one does not wait for it. */
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
/** The minimum that a request counts for, so that callers of very short requests alternate, too. */
const MIN_USE_MS = 1;
/** How many idle groups keep their usage; beyond that, the group that has been idle longest is evicted. */
const MAX_IDLE_GROUPS = 1000;

/** Counts the running and waiting requests of each group. `groups` is always a result of `groupsOf`. */
export interface GroupCounts {
  came(groups: readonly string[]): void;
  left(groups: readonly string[]): void;
  /** Records the start of a request that takes this many slots. Default 1. */
  started(groups: readonly string[], slots?: number): void;
  /** The number of slots of the tenant's running requests. */
  runningOf(groups: readonly string[]): number;
  /** The number of the tenant's waiting requests. */
  waitingOf(groups: readonly string[]): number;
  /** Records the end of a request that held its slots for this long. */
  ended(groups: readonly string[], ms: number, slots?: number): void;
  /**
   * Below 0 if `a` goes before `b`: it holds fewer slots, or as many and has less usage, with `moreMs` added to
   * that of `a`.
   */
  compare(a: readonly string[], b: readonly string[], moreMs?: number): number;
  /** The one that goes first, and among equals the one that came first. */
  first<T extends { readonly groups: readonly string[] }>(waiting: Iterable<T>): T | undefined;
  /**
   * The sibling of one of these groups with the most waiting requests; undefined if one more would give these the
   * most.
   */
  mostWaiting(groups: readonly string[]): string | undefined;
}

/** Creates counts with nothing running or waiting. */
export function createCounts(): GroupCounts {
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

  function compare(a: readonly string[], b: readonly string[], moreMs = 0): number {
    // Compare the first level at which they differ.
    const i = a.findIndex((group, at) => group !== b[at]);
    const one = counts.get(a[i] ?? '') ?? NOTHING;
    const other = counts.get(b[i] ?? '') ?? NOTHING;
    const now = performance.now();
    return one.running - other.running || usedAt(one, now) + moreMs - usedAt(other, now);
  }

  return {
    came: (groups) => change(groups, (count) => (count.waiting += 1)),
    left: (groups) => change(groups, (count) => (count.waiting -= 1)),
    started: (groups, slots = 1) => change(groups, (count) => (count.running += slots)),
    runningOf: ([tenant = '']) => counts.get(tenant)?.running ?? 0,
    waitingOf: ([tenant = '']) => waitingOf(tenant),
    ended: (groups, ms, slots = 1) =>
      change(groups, (count) => {
        count.running -= slots;
        const now = performance.now();
        count.usedMs = usedAt(count, now) + slots * Math.max(ms, MIN_USE_MS);
        count.countedAt = now;
      }),
    compare,
    first<T extends { readonly groups: readonly string[] }>(waiting: Iterable<T>): T | undefined {
      let first: T | undefined;
      for (const one of waiting) if (first === undefined || compare(one.groups, first.groups) < 0) first = one;
      return first;
    },
    mostWaiting(groups) {
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
