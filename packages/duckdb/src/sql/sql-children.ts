import { onAbort, ServiceError, toServiceError } from '@svc/errors';
import { createIdleChildren } from './idle-children.ts';
import { limitOf, LONG_LEVEL } from './levels.ts';
import type { SqlChild } from './sql-child.ts';
import { startClock, whenReached } from './statement-clock.ts';
import { createSqlScheduler, type Slot } from './sql-scheduler.ts';
import type { SlotRequest } from './wait-queue.ts';

/** A child for one statement. */
export interface ChildSlot extends Pick<Slot, 'interrupted' | 'ranMs' | 'keep'> {
  readonly child: SqlChild;
  /** The statement runs: how long, counts from now on. */
  begin(): void;
  /** Lets others have it, once it has answered what it was asked last. */
  free(): void;
}

/** The children of an engine: so many statements at a time, each in a child that its tenant shares with nobody. */
export interface SqlChildren {
  /** A child for a statement, as soon as it is its turn. */
  take(request: SlotRequest, signal: AbortSignal): Promise<ChildSlot>;
  close(): Promise<void>;
}

/** How many children there are. */
export interface SqlChildrenOptions {
  readonly start: () => SqlChild;
  readonly maxConcurrent: number;
  readonly maxQueued: number;
  /** A new statement that runs for longer than this can be interrupted when another one waits. */
  readonly shortMs: number;
  /** How long a child waits for the next statement before it is ended. */
  readonly idleMs: number;
  /** When the first one is started, if no statement needs it before. */
  readonly startAheadMs: number;
}

/** No children but one, which is started ahead. */
export function createSqlChildren(options: SqlChildrenOptions): SqlChildren {
  const { start, maxConcurrent, idleMs, startAheadMs } = options;
  const scheduler = createSqlScheduler(options);
  const longMs = limitOf(LONG_LEVEL - 1, options.shortMs);
  const idle = createIdleChildren(idleMs, end);
  const busy = new Set<SqlChild>();
  const ending = new Set<Promise<void>>();
  let isClosed = false;

  function end(child: SqlChild): void {
    const ended = child.close().finally(() => ending.delete(ended));
    ending.add(ended);
  }

  function startAhead(): void {
    if (isClosed || scheduler.running >= maxConcurrent) return;
    try {
      idle.add(idle.take(isUnused) ?? start());
    } catch {
      // Nobody waits for it: the statement that needs one tries again, and hears why there is none.
    }
  }

  function childFor(tenant: string): SqlChild {
    const child = idle.take((one) => one.tenant === tenant) ?? idle.take(isUnused) ?? start();
    child.tenant = tenant;
    busy.add(child);
    // As many as can be used, and the one that is started ahead: others' children are ended.
    while (scheduler.running + idle.size > maxConcurrent + 1) {
      const surplus = idle.take((one) => !isUnused(one)) ?? idle.take(() => true);
      if (surplus !== undefined) end(surplus);
    }
    startAhead();
    return child;
  }

  async function giveBack(child: SqlChild, slot: Slot): Promise<void> {
    await child.settled();
    busy.delete(child);
    if (isClosed || !child.isAlive || !child.hasRoom() || !child.priority.restore()) end(child);
    else idle.add(child);
    slot.end();
    startAhead();
  }

  /** Whoever gets no child does not keep the turn. */
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
      const slot = await scheduler.wait(request, signal);
      if (isClosed) {
        slot.end();
        throw new ServiceError('unavailable', 'The engine is closed.');
      }
      const child = childForSlot(request.caller.tenant, slot);
      return createChildSlot({ child, slot, longMs, end: () => end(child), giveBack: () => void giveBack(child, slot) });
    },
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

/** A place in which a long statement has a lower CPU priority: short ones and reads of frames go first. */
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

/** A function of which only the first call counts. */
function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}
