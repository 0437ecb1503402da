import type { Call } from '@svc/frames';

/** The source of a statement. */
export type Caller = Pick<Call, 'tenant' | 'client'>;

/** Returns the groups that a caller belongs to, from the largest to the smallest: tenant, address, connection. */
export function groupsOf({ tenant, client }: Caller): readonly string[] {
  const address = client?.address ?? '';
  return [tenant, JSON.stringify([tenant, address]), JSON.stringify([tenant, address, client?.connection ?? ''])];
}

interface Count {
  running: number;
  waiting: number;
  /** How many milliseconds the statements of the group have held slots, with a half-life of ten seconds. */
  usedMs: number;
  /** When `usedMs` was updated. */
  countedAt: number;
}

const HALF_LIFE_MS = 10_000;
/** The minimum that a statement counts for, so that callers of very short statements alternate, too. */
const MIN_USE_MS = 1;
/** How many idle groups keep their usage; beyond that, the group that has been idle longest is evicted. */
const MAX_IDLE_GROUPS = 1000;

/** Counts the running and waiting statements of each group. `groups` is always a result of `groupsOf`. */
export interface GroupCounts {
  came(groups: readonly string[]): void;
  left(groups: readonly string[]): void;
  started(groups: readonly string[]): void;
  /** Records that a statement has ended which held a slot for this long. */
  ended(groups: readonly string[], ms: number): void;
  /**
   * Below 0 if `a` goes before `b`: it has fewer running statements, or as many and less usage, with `moreMs` added to
   * that of `a`.
   */
  compare(a: readonly string[], b: readonly string[], moreMs?: number): number;
  /**
   * The sibling of one of these groups with the most waiting statements; undefined if one more would give these the
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

  return {
    came: (groups) => change(groups, (count) => (count.waiting += 1)),
    left: (groups) => change(groups, (count) => (count.waiting -= 1)),
    started: (groups) => change(groups, (count) => (count.running += 1)),
    ended: (groups, ms) =>
      change(groups, (count) => {
        count.running -= 1;
        const now = performance.now();
        count.usedMs = usedAt(count, now) + Math.max(ms, MIN_USE_MS);
        count.countedAt = now;
      }),
    compare(a, b, moreMs = 0) {
      // Compare the first level at which they differ.
      const i = a.findIndex((group, at) => group !== b[at]);
      const one = counts.get(a[i] ?? '') ?? NOTHING;
      const other = counts.get(b[i] ?? '') ?? NOTHING;
      const now = performance.now();
      return one.running - other.running || usedAt(one, now) + moreMs - usedAt(other, now);
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
