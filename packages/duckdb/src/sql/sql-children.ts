import type { ChildExitReason } from '@svc/frames';
import { onAbort, ServiceError, toServiceError } from '@svc/errors';
import type { SqlChild } from './sql-child.ts';
import { startClock, whenReached } from './statement-clock.ts';
import { createSqlQueue, longAfterMs, type QueueOptions, type Slot, type SlotRequest } from './queue.ts';

/** A slot of the queue and a child for it. */
export interface ChildSlot extends Pick<Slot, 'interrupted' | 'ranMs' | 'keep'> {
  readonly child: SqlChild;
  /** Starts the clock of the statement. */
  begin(): void;
  /** Releases slot and child when the last request is done. */
  free(): void;
}

/** The children of an engine. Each statement runs in a child that serves only its tenant. */
export interface SqlChildren {
  /** Waits for a slot and returns it with a child. */
  take(request: SlotRequest, signal: AbortSignal): Promise<ChildSlot>;
  /** Returns the number of children, busy or idle. */
  size(): number;
  close(): Promise<void>;
}

/** Options of `createSqlChildren`. */
export interface SqlChildrenOptions extends QueueOptions {
  readonly start: () => SqlChild;
  /** How long an idle child is kept. */
  readonly idleMs: number;
  /** When the first child is started, unless a statement needs it earlier. */
  readonly startAheadMs: number;
}

/** Creates the children of an engine. One spare child is always started ahead. */
export function createSqlChildren(options: SqlChildrenOptions): SqlChildren {
  const { start, maxConcurrent, idleMs, startAheadMs } = options;
  const queue = createSqlQueue(options);
  const idle = createIdleChildren(idleMs, end);
  const busy = new Set<SqlChild>();
  const ending = new Set<Promise<void>>();
  let isClosed = false;

  function end(child: SqlChild, reason?: ChildExitReason): void {
    const ended = child.close(reason).finally(() => ending.delete(ended));
    ending.add(ended);
  }

  function startAhead(): void {
    if (isClosed || queue.running >= maxConcurrent) return;
    try {
      idle.add(idle.take(isUnused) ?? start());
    } catch {
      // The statement that needs a child tries again, and reports why there is none.
    }
  }

  function childFor(tenant: string): SqlChild {
    const child = idle.take((one) => one.tenant === tenant) ?? idle.take(isUnused) ?? start();
    child.tenant = tenant;
    busy.add(child);
    // Keep as many as can be used, and the spare one. End the others.
    while (queue.running + idle.size > maxConcurrent + 1) {
      const surplus = idle.take((one) => !isUnused(one)) ?? idle.take(() => true);
      if (surplus !== undefined) end(surplus, 'idle');
    }
    startAhead();
    return child;
  }

  async function giveBack(child: SqlChild, slot: Slot): Promise<void> {
    await child.settled();
    busy.delete(child);
    if (isClosed || !child.isAlive || !child.hasRoom() || !child.priority.restore())
      end(child, isClosed ? 'stopped' : 'recycled');
    else idle.add(child);
    slot.end();
    startAhead();
  }

  /** Releases the slot if no child can be started. */
  function childForSlot(tenant: string, slot: Slot): SqlChild {
    try {
      return childFor(tenant);
    } catch (error) {
      slot.end();
      throw toServiceError(error);
    }
  }

  if (startAheadMs === 0) startAhead();
  else setTimeout(startAhead, startAheadMs).unref();
  return {
    async take(request, signal) {
      const slot = await queue.wait(request, signal);
      if (isClosed) {
        slot.end();
        throw new ServiceError('unavailable', 'The engine is closed.');
      }
      const child = childForSlot(request.caller.tenant, slot);
      const release = { end: () => end(child, 'killed'), giveBack: () => void giveBack(child, slot) };
      return createChildSlot({ child, slot, longMs: longAfterMs(options.shortMs), ...release });
    },
    size: () => busy.size + idle.size,
    async close() {
      isClosed = true;
      for (let child = idle.take(() => true); child !== undefined; child = idle.take(() => true)) end(child);
      for (const child of busy) end(child);
      await Promise.all(ending);
    },
  };
}

interface ChildSlotParts {
  readonly child: SqlChild;
  readonly slot: Slot;
  /** A statement that has run for this long is a long one. */
  readonly longMs: number;
  readonly end: () => void;
  readonly giveBack: () => void;
}

/** Creates a slot in which a long statement runs at a lower CPU priority than short ones and reads of frames. */
function createChildSlot({ child, slot, longMs, end, giveBack }: ChildSlotParts): ChildSlot {
  let lowering: { stop(): void } | undefined;
  onAbort(slot.interrupted, () => {
    lowering?.stop();
    // At a low priority it would take long to stop on a busy machine.
    if (!child.priority.restore()) end();
  });
  return {
    ...slot,
    child,
    begin() {
      const clock = startClock(() => child.cpuMs());
      lowering ??= whenReached(clock, slot.isLong ? 0 : longMs, () => child.priority.lower());
      slot.begin(clock);
    },
    free: once(() => {
      lowering?.stop();
      giveBack();
    }),
  };
}

function isUnused({ tenant }: SqlChild): boolean {
  return tenant === undefined;
}

/** Wraps a function so that only the first call runs it. */
function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}

/** The pool of idle children. */
interface IdleChildren {
  readonly size: number;
  add(child: SqlChild): void;
  /** Removes and returns a live child that fits. */
  take(fits: (child: SqlChild) => boolean): SqlChild | undefined;
}

/** Creates an empty pool. A used child goes to `end` after `idleMs`, a dead one when it is found. */
function createIdleChildren(idleMs: number, end: (child: SqlChild, reason: ChildExitReason) => void): IdleChildren {
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
