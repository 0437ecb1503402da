import type { SqlChild } from './sql-child.ts';

/** Children that have nothing to do. */
export interface IdleChildren {
  readonly size: number;
  add(child: SqlChild): void;
  /** One that lives and fits, which is then no longer here. */
  take(fits: (child: SqlChild) => boolean): SqlChild | undefined;
}

/** No children. One that somebody has used is handed to `end` when it was here for `idleMs`, and one that has ended. */
export function createIdleChildren(idleMs: number, end: (child: SqlChild) => void): IdleChildren {
  const timers = new Map<SqlChild, NodeJS.Timeout | undefined>();

  function remove(child: SqlChild): void {
    clearTimeout(timers.get(child));
    timers.delete(child);
  }

  function endOne(child: SqlChild): void {
    remove(child);
    end(child);
  }

  return {
    get size() {
      return timers.size;
    },
    add(child) {
      const isUsed = child.tenant !== undefined;
      timers.set(child, isUsed ? setTimeout(() => endOne(child), idleMs).unref() : undefined);
    },
    take(fits) {
      for (const child of timers.keys()) {
        if (!child.isAlive) {
          endOne(child);
        } else if (fits(child)) {
          remove(child);
          return child;
        }
      }
      return undefined;
    },
  };
}
