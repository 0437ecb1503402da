import { createCounts, groupsOf } from './caller-groups.ts';
import { chooseVictim, type Running } from './interruption.ts';
import { costOf, hasSlotFor, levelOf, LONG_LEVEL } from './levels.ts';
import { lookAgainIn, type StatementClock } from './statement-clock.ts';
import { createWaitQueue, type SlotRequest, type Waiting } from './wait-queue.ts';

/** One statement in a place. */
export interface Slot {
  /** Whether it is known from the start that the statement takes long. */
  readonly isLong: boolean;
  /** Aborted when the place is needed: the statement is to stop, end its turn and wait for another one. */
  readonly interrupted: AbortSignal;
  /** For how long the statement had run when it was interrupted, for its next request. */
  ranMs(): number;
  /** The statement runs: how long, is what the clock says from now on. */
  begin(clock: StatementClock): void;
  /** The statement has given rows. What was sent cannot be sent again, so it is not interrupted from now on. */
  keep(): void;
  end(): void;
}

/** Places for statements, shared fairly by those who ask. */
export interface SqlScheduler {
  /** How many places are taken. */
  readonly running: number;
  /** Resolves when it is the turn of the statement. */
  wait(request: SlotRequest, signal: AbortSignal): Promise<Slot>;
}

/** How many places there are, and how they are shared. */
export interface SchedulerOptions {
  readonly maxConcurrent: number;
  readonly maxQueued: number;
  /** A statement of level 0 that runs for longer than this can be interrupted when another one waits. */
  readonly shortMs: number;
}

/**
 * A multilevel feedback queue. All places are free. A free place goes to the caller with the fewest, then to the one that
 * has used places least: by tenant, then by address, then by connection. If a statement waits and has no place, one that
 * has run for longer than its level allows is interrupted and waits at a higher level, with more time. Long levels leave
 * a place to quick ones, so a short statement waits for `shortMs` at a time, however many long ones there are.
 */
export function createSqlScheduler({ maxConcurrent, maxQueued, shortMs }: SchedulerOptions): SqlScheduler {
  const counts = createCounts();
  const queue = createWaitQueue<Slot>(counts, maxQueued);
  const running = new Set<Running>();
  /** One place alone has no room for both kinds. */
  const canInterrupt = maxConcurrent > 1;
  let timer: NodeJS.Timeout | undefined;

  function start({ groups, level, order }: Pick<Running, 'groups' | 'level' | 'order'>): Slot {
    const controller = new AbortController();
    const one: Running = { groups, level, order, controller, runs: undefined, ranMs: 0, isKept: false };
    running.add(one);
    counts.started(groups);
    return {
      isLong: level >= LONG_LEVEL,
      interrupted: controller.signal,
      ranMs: () => one.ranMs,
      begin(clock) {
        one.runs ??= { since: performance.now(), clock };
        makeRoom();
      },
      keep() {
        one.isKept = true;
      },
      end() {
        if (!running.delete(one)) return;
        counts.ended(groups, one.runs?.clock() ?? 0);
        startNext(one);
      },
    };
  }

  const levels = (): number[] => Array.from(running, ({ level }) => level);
  const hasSlot = (level: number): boolean => hasSlotFor(level, levels(), maxConcurrent);

  /** Gives free places away. One that an interrupted statement has left goes to another of its level or below, if one waits. */
  function startNext({ controller, order, ranMs }: Running): void {
    const belowLevel = Math.max(levelOf(ranMs, shortMs), LONG_LEVEL);
    const isPreferred = (one: Waiting<Slot>): boolean =>
      controller.signal.aborted && one.order !== order && one.level < belowLevel;
    for (let one = queue.take(hasSlot, isPreferred); one; one = queue.take(hasSlot, isPreferred)) {
      one.begin(start(one));
    }
    makeRoom();
  }

  /** Interrupts a statement if another one needs its place, or looks again when one has run for long enough. */
  function makeRoom(): void {
    clearTimeout(timer);
    // One at a time: its place is free in a moment.
    if (!canInterrupt || [...running].some(({ controller }) => controller.signal.aborted)) return;
    const { victim, inMs } = chooseVictim([...running], (level) => queue.first(level), {
      counts,
      maxConcurrent,
      shortMs,
    });
    if (inMs !== undefined) timer = setTimeout(makeRoom, lookAgainIn(inMs)).unref();
    if (victim === undefined) return;
    victim.ranMs = victim.runs?.clock() ?? 0;
    victim.controller.abort();
  }

  return {
    get running() {
      return running.size;
    },
    async wait(request, signal) {
      signal.throwIfAborted();
      const groups = groupsOf(request.caller);
      const level = levelOf(request.ranMs ?? 0, shortMs);
      const statement = { ...request, groups, level, costMs: costOf(level, shortMs) };
      if (hasSlot(level)) return start(statement);
      const slot = queue.join(statement, signal);
      makeRoom();
      return slot;
    },
  };
}
