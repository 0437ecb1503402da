import { createCounts, groupsOf } from '@svc/frames/internal';
import { chooseVictim, type Running } from './interruption.ts';
import { costOf, hasSlotFor, levelOf, LONG_LEVEL, type SlotLimits } from './levels.ts';
import { lookAgainIn, type StatementClock } from './statement-clock.ts';
import { createWaitQueue, type SlotRequest, type Waiting } from './wait-queue.ts';

/** A slot that a statement holds. */
export interface Slot {
  /** Whether the statement is known to be long from the start. */
  readonly isLong: boolean;
  /** Aborted when the slot is needed: the statement must stop, release its slot and wait for another. */
  readonly interrupted: AbortSignal;
  /** How long the statement had run when it was interrupted, for its next request. */
  ranMs(): number;
  /** Marks the statement as running; the clock measures for how long. */
  begin(clock: StatementClock): void;
  /** Marks the statement as not interruptible: it has sent rows, which cannot be sent again. */
  keep(): void;
  end(): void;
}

/** Shares slots fairly among callers. */
export interface SqlScheduler {
  /** The number of slots in use. */
  readonly running: number;
  /** Waits for a slot. */
  wait(request: SlotRequest, signal: AbortSignal): Promise<Slot>;
}

/** Options of `createSqlScheduler`. */
export interface SchedulerOptions extends SlotLimits {
  readonly maxQueued: number;
  /** A statement of level 0 that runs for longer than this can be interrupted if another one waits. */
  readonly shortMs: number;
}

/**
 * Creates a multilevel feedback queue. A free slot goes to the caller with the fewest slots, then to the one with the least
 * usage: by tenant, then by address, then by connection. If a statement waits, one that has run for longer than its level
 * allows is interrupted and waits at a higher level, with a higher limit. Long levels leave a slot to quick ones, so a
 * short statement waits for `shortMs` at a time, however many long ones there are. The same holds among the
 * statements of a tenant in its slots.
 */
export function createSqlScheduler({ maxQueued, shortMs, ...limits }: SchedulerOptions): SqlScheduler {
  const counts = createCounts();
  const queue = createWaitQueue<Slot>(counts, maxQueued);
  const running = new Set<Running>();
  /** A single slot cannot be shared by long and quick statements. */
  const canInterrupt = limits.maxConcurrent > 1;
  let timer: NodeJS.Timeout | undefined;

  function start({ caller, groups, level, order }: Pick<Running, 'caller' | 'groups' | 'level' | 'order'>): Slot {
    const controller = new AbortController();
    const one: Running = { caller, groups, level, order, controller, runs: undefined, ranMs: 0, isKept: false };
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

  const hasSlot = (one: Pick<Waiting<Slot>, 'caller' | 'level'>): boolean => hasSlotFor(one, [...running], limits);

  /**
   * Hands free slots to waiting statements. The slot of an interrupted one goes to another of its level or below, if
   * one waits.
   */
  function startNext({ controller, order, ranMs }: Running): void {
    const belowLevel = Math.max(levelOf(ranMs, shortMs), LONG_LEVEL);
    const isPreferred = (one: Waiting<Slot>): boolean =>
      controller.signal.aborted && one.order !== order && one.level < belowLevel;
    for (let one = queue.take(hasSlot, isPreferred); one; one = queue.take(hasSlot, isPreferred)) {
      one.begin(start(one));
    }
    makeRoom();
  }

  /** Interrupts a statement if another needs its slot, or checks again when one has run for long enough. */
  function makeRoom(): void {
    clearTimeout(timer);
    // One at a time: its slot will be free in a moment.
    if (!canInterrupt || [...running].some(({ controller }) => controller.signal.aborted)) return;
    const options = { counts, shortMs, ...limits };
    const { victim, inMs } = chooseVictim([...running], (level) => queue.first(level), options);
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
      if (hasSlot(statement)) return start(statement);
      const slot = queue.join(statement, signal);
      makeRoom();
      return slot;
    },
  };
}
