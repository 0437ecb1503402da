import type { Call } from '@svc/frames';

/** Who asks. */
export type Asker = Pick<Call, 'tenant' | 'client'>;

/** The groups an asker belongs to, from the largest to the smallest: tenant, address, connection. */
export function groupsOf({ tenant, client }: Asker): readonly string[] {
  const address = client?.address ?? '';
  return [tenant, JSON.stringify([tenant, address]), JSON.stringify([tenant, address, client?.connection ?? ''])];
}

interface Count {
  running: number;
  waiting: number;
  /** When a statement of the group was started last. */
  servedAt: number;
}

/** How many statements of each group run and wait. Lists of groups are those of `groupsOf`. */
export interface GroupCounts {
  came(groups: readonly string[]): void;
  left(groups: readonly string[]): void;
  started(groups: readonly string[]): void;
  ended(groups: readonly string[]): void;
  /** Below 0 where `a` goes before `b`: fewer of its statements run, or it had its last turn earlier. */
  compare(a: readonly string[], b: readonly string[]): number;
  /** The group, beside one of these, with the most waiting statements; undefined where one more makes these the most. */
  mostWaiting(groups: readonly string[]): string | undefined;
}

/** Nothing runs, and nothing waits. */
export function createCounts(): GroupCounts {
  const counts = new Map<string, Count>();
  /** The groups inside of each group. */
  const inside = new Map<string, Set<string>>();
  let turns = 0;

  function change(groups: readonly string[], by: (count: Count) => void): void {
    groups.forEach((group, i) => {
      const count = counts.get(group) ?? { running: 0, waiting: 0, servedAt: 0 };
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
      }
    });
  }

  function waitingOf(group: string): number {
    return counts.get(group)?.waiting ?? 0;
  }

  return {
    came: (groups) => change(groups, (count) => (count.waiting += 1)),
    left: (groups) => change(groups, (count) => (count.waiting -= 1)),
    started(groups) {
      turns += 1;
      change(groups, (count) => {
        count.running += 1;
        count.servedAt = turns;
      });
    },
    ended: (groups) => change(groups, (count) => (count.running -= 1)),
    compare(a, b) {
      for (const [i, group] of a.entries()) {
        const one = counts.get(group);
        const other = counts.get(b[i] ?? '');
        const by = (one?.running ?? 0) - (other?.running ?? 0) || (one?.servedAt ?? 0) - (other?.servedAt ?? 0);
        if (by !== 0) return by;
      }
      return 0;
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
