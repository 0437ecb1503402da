import { ServiceError } from '@svc/errors';
import type { SqlChild } from './sql-child.ts';

/** A child for one statement. */
export interface SqlPlace {
  readonly child: SqlChild;
  /** Lets others have it, once it has answered what it was asked last. */
  free(): void;
}

/** The children of an engine: so many statements at a time, each in a child that its tenant shares with nobody. */
export interface SqlChildren {
  /** A child for a statement of a tenant, as soon as it is its turn. */
  take(tenant: string, signal: AbortSignal): Promise<SqlPlace>;
  close(): Promise<void>;
}

/** How many children there are. */
export interface SqlChildrenOptions {
  readonly start: () => SqlChild;
  readonly maxConcurrent: number;
  readonly maxQueued: number;
  /** How long a child waits for the next statement before it is ended. */
  readonly idleMs: number;
}

interface Idle {
  readonly child: SqlChild;
  timer: NodeJS.Timeout | undefined;
}

/** No children but one, which is started ahead. */
export function createSqlChildren({ start, maxConcurrent, maxQueued, idleMs }: SqlChildrenOptions): SqlChildren {
  const waiting = new Set<() => void>();
  const idle = new Set<Idle>();
  const busy = new Set<SqlChild>();
  const ending = new Set<Promise<void>>();
  let running = 0;
  let isClosed = false;

  function end(child: SqlChild): void {
    const ended = child.close().finally(() => ending.delete(ended));
    ending.add(ended);
  }

  function putAside(child: SqlChild): void {
    if (isClosed) {
      end(child);
      return;
    }
    const entry: Idle = { child, timer: undefined };
    // One that nobody has used yet is the one that is started ahead.
    if (child.tenant !== undefined) {
      entry.timer = setTimeout(() => {
        idle.delete(entry);
        end(child);
      }, idleMs).unref();
    }
    idle.add(entry);
  }

  function takeIdle(fits: (child: SqlChild) => boolean): SqlChild | undefined {
    for (const entry of idle) {
      if (!entry.child.isAlive) idle.delete(entry);
      else if (fits(entry.child)) {
        idle.delete(entry);
        clearTimeout(entry.timer);
        return entry.child;
      }
    }
    return undefined;
  }

  function startAhead(): void {
    if (isClosed || running >= maxConcurrent) return;
    const spare = takeIdle(({ tenant }) => tenant === undefined) ?? start();
    putAside(spare);
  }

  function childFor(tenant: string): SqlChild {
    const child = takeIdle((one) => one.tenant === tenant) ?? takeIdle((one) => one.tenant === undefined) ?? start();
    child.tenant = tenant;
    // Others' children are ended where there would be too many: as many as can be used, and one that is started ahead.
    while (running + idle.size > maxConcurrent + 1) {
      const surplus = takeIdle((one) => one.tenant !== undefined) ?? takeIdle(() => true);
      if (surplus !== undefined) end(surplus);
    }
    startAhead();
    return child;
  }

  function turn(signal: AbortSignal): Promise<void> {
    if (waiting.size >= maxQueued) throw tooMany(maxQueued);
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        waiting.delete(go);
        reject(signal.reason);
      };
      const go = (): void => {
        signal.removeEventListener('abort', abort);
        resolve();
      };
      waiting.add(go);
      signal.addEventListener('abort', abort, { once: true });
    });
  }

  function next(): void {
    const [go] = waiting;
    if (go === undefined) {
      running--;
      startAhead();
      return;
    }
    waiting.delete(go);
    go();
  }

  async function giveBack(child: SqlChild): Promise<void> {
    await child.settled();
    busy.delete(child);
    if (child.isAlive) putAside(child);
    next();
  }

  startAhead();
  return {
    async take(tenant, signal) {
      signal.throwIfAborted();
      if (isClosed) throw closed();
      if (running < maxConcurrent) running++;
      else await turn(signal);
      let isFree = false;
      try {
        if (isClosed) throw closed();
        const child = childFor(tenant);
        busy.add(child);
        return {
          child,
          free() {
            if (isFree) return;
            isFree = true;
            void giveBack(child);
          },
        };
      } catch (error) {
        next();
        throw error;
      }
    },
    async close() {
      isClosed = true;
      for (const entry of idle) {
        clearTimeout(entry.timer);
        end(entry.child);
      }
      idle.clear();
      for (const child of busy) end(child);
      for (const go of waiting) go();
      waiting.clear();
      await Promise.all(ending);
    },
  };
}

function closed(): ServiceError {
  return new ServiceError('unavailable', 'The engine is closed.');
}

function tooMany(maxQueued: number): ServiceError {
  return new ServiceError('too_many_requests', `${maxQueued} statements are waiting for an engine already.`);
}
