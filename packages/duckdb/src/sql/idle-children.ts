import type { ChildExitReason } from '@svc/frames';
import type { SqlChild } from './sql-child.ts';

/** The pool of idle children. */
export interface IdleChildren {
  readonly size: number;
  add(child: SqlChild): void;
  /** Removes and returns a live child that fits. */
  take(fits: (child: SqlChild) => boolean): SqlChild | undefined;
}

/** Creates an empty pool. A used child goes to `end` after `idleMs`, a dead one when it is found. */
export function createIdleChildren(
  idleMs: number,
  end: (child: SqlChild, reason: ChildExitReason) => void,
): IdleChildren {
  const timers = new Map<SqlChild, NodeJS.Timeout | undefined>();

  function remove(child: SqlChild): void {
    clearTimeout(timers.get(child));
    timers.delete(child);
  }

  function endOne(child: SqlChild): void {
    remove(child);
    end(child, 'idle');
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
