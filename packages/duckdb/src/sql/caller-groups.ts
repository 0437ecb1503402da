import type { Call } from '@svc/frames';

/** Who asks. */
export type Caller = Pick<Call, 'tenant' | 'client'>;

/** The groups an caller belongs to, from the largest to the smallest: tenant, address, connection. */
export function groupsOf({ tenant, client }: Caller): readonly string[] {
  const address = client?.address ?? '';
  return [tenant, JSON.stringify([tenant, address]), JSON.stringify([tenant, address, client?.connection ?? ''])];
}

interface Count {
  running: number;
  waiting: number;
  /** For how many milliseconds statements of the group have had places, halved every ten seconds. */
  usedMs: number;
  /** When that was counted. */
  countedAt: number;
}

const HALF_LIFE_MS = 10_000;
/** A statement counts for as much at the least, so that callers of the shortest ones take turns, too. */
const MIN_USE_MS = 1;
/** So many groups without a statement are remembered for what they have used; those that were idle longest are forgotten. */
const MAX_IDLE_GROUPS = 1000;

/** How many statements of each group run and wait. Lists of groups are those of `groupsOf`. */
export interface GroupCounts {
  came(groups: readonly string[]): void;
  left(groups: readonly string[]): void;
  started(groups: readonly string[]): void;
  /** A statement has ended that had a place for a time. */
  ended(groups: readonly string[], ms: number): void;
  /** Below 0 if `a` goes before `b`: fewer of its statements run, or it has used less, when it will have used some more. */
  compare(a: readonly string[], b: readonly string[], moreMs?: number): number;
  /** The group, beside one of these, with the most waiting statements; undefined where one more makes these the most. */
  mostWaiting(groups: readonly string[]): string | undefined;
}

/** Nothing runs, and nothing waits. */
export function createCounts(): GroupCounts {
  const counts = new Map<string, Count>();
  /** What groups have used that have no statement, the one that was idle longest first. */
  const idle = new Map<string, Count>();
  /** The groups inside of each group. */
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
      // What is the same for both says nothing.
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
