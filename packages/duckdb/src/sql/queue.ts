import { onAbort, ServiceError } from '@svc/errors';
import type { QueuePlace } from '@svc/frames';
import { type CallSource, createCounts, type GroupCounts, groupsOf } from '@svc/frames/async';

/** A request for a slot. */
export interface SlotRequest {
  readonly caller: CallSource;
  /** How long the statement ran before it was interrupted. Default 0: it was not. */
  readonly ranMs?: number;
  /** The order of arrival: unique for each statement, and the same when it waits again. */
  readonly order: number;
  /** Called if it must wait; `place` returns its current place. */
  readonly onWait?: ((place: () => QueuePlace) => void) | undefined;
}

/** The slot of a statement. */
export interface Slot {
  /** True if the statement is known to be long from the start. */
  readonly isLong: boolean;
  /** Aborted when the slot is needed: the statement must stop, release its slot and wait for another. */
  readonly interrupted: AbortSignal;
  /** How long the statement had run when it was interrupted, for its next request. */
  ranMs(): number;
  /** Marks the statement as running; the clock measures for how long. */
  begin(clock: StatementClock): void;
  /** The statement sends rows. They cannot be sent again, so it is not interrupted any more. */
  beginSending(): void;
  end(): void;
}

/** Shares slots fairly among callers. */
export interface SqlQueue {
  /** The number of slots in use. */
  readonly running: number;
  /** Waits for a slot. If the queue is full, a statement of the client with the most waiting ones is refused. */
  wait(request: SlotRequest, signal: AbortSignal): Promise<Slot>;
}

/** Options of `createSqlQueue`. */
export interface QueueOptions {
  readonly maxConcurrent: number;
  /** The most slots of one tenant. */
  readonly maxPerTenant: number;
  readonly maxQueued: number;
  /** A statement of level 0 that runs for longer than this can be interrupted if another one waits. */
  readonly shortMs: number;
}

/**
 * Levels of a feedback queue. A statement starts at level 0 and rises when it is interrupted. Each level allows four times
 * the run time of the one before, so interruptions waste at most a third of the time it may then use. At the last level
 * it is not interrupted.
 *
 * To lower the priority of long statements instead is not enough: a long one would keep its slot and its memory. With as
 * many of them as slots, a short one would wait up to `sql.timeout_ms` instead of `shortMs`, or need memory beyond
 * `sql.max_concurrent` times `sql.memory_gb`.
 */
const LAST_LEVEL = 3;
/** Statements below this level are quick: one slot is always reserved for them. */
const LONG_LEVEL = 2;
const GROWTH = 4;

/** The run time expected of a statement of a level. */
const costOf = (level: number, shortMs: number): number => shortMs * GROWTH ** level;

/** How long a statement of a level may run while others wait. */
const limitOf = (level: number, shortMs: number): number => (level >= LAST_LEVEL ? Infinity : costOf(level, shortMs));

/** How long a statement runs before it is a long one. */
export const longAfterMs = (shortMs: number): number => limitOf(LONG_LEVEL - 1, shortMs);

/** The level of a statement after this time without rows: the first one with a longer limit. */
function levelOf(ranMs: number, shortMs: number): number {
  let level = 0;
  while (limitOf(level, shortMs) <= ranMs) level += 1;
  return level;
}

/** A running or waiting statement. */
interface Placed extends SlotRequest {
  readonly groups: readonly string[];
  readonly level: number;
}

interface Waiting extends Placed {
  begin(slot: Slot): void;
  refuse(error: unknown): void;
}

interface Running extends Placed {
  readonly controller: AbortController;
  /** Undefined until the statement runs. */
  runs: { readonly since: number; readonly clock: StatementClock } | undefined;
  /** How long it had run when it was interrupted. */
  ranMs: number;
  isSending: boolean;
}

/** A statement to interrupt, or the delay after which to check again. */
interface Choice {
  readonly victim?: Running;
  readonly inMs?: number;
}

/** The state of a queue. */
interface State extends QueueOptions {
  readonly counts: GroupCounts;
  readonly running: Set<Running>;
  readonly waiting: Set<Waiting>;
}

/**
 * Creates a multilevel feedback queue. A free slot goes to the caller with the fewest slots, then to the one with the least
 * usage: by tenant, then by address, then by connection. If a statement waits, one that has run for longer than its level
 * allows is interrupted and waits at a higher level, with a higher limit. Long levels leave a slot to quick ones, so a
 * short statement waits for `shortMs` at a time, however many long ones there are. The same holds among the
 * statements of a tenant in its slots.
 */
export function createSqlQueue(options: QueueOptions): SqlQueue {
  const state: State = { ...options, counts: createCounts(), running: new Set(), waiting: new Set() };
  const { shortMs, counts, running } = state;
  /** A single slot cannot be shared by long and quick statements. */
  const canInterrupt = options.maxConcurrent > 1;
  let timer: NodeJS.Timeout | undefined;

  function start(statement: Placed): Slot {
    const controller = new AbortController();
    const { groups, level } = statement;
    const one: Running = { ...statement, controller, runs: undefined, ranMs: 0, isSending: false };
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
      beginSending() {
        one.isSending = true;
      },
      end() {
        if (!running.delete(one)) return;
        counts.ended(groups, one.runs?.clock() ?? 0);
        startNext(one);
      },
    };
  }

  /** Hands free slots to waiting statements. */
  function startNext(ended: Running): void {
    for (let next = nextWaiting(state, ended); next !== undefined; next = nextWaiting(state, ended)) {
      leave(state, next);
      next.begin(start(next));
    }
    makeRoom();
  }

  /** Interrupts a statement if another needs its slot, or checks again when one has run for long enough. */
  function makeRoom(): void {
    clearTimeout(timer);
    // One at a time: its slot will be free in a moment.
    if (!canInterrupt || [...running].some(({ controller }) => controller.signal.aborted)) return;
    const { victim, inMs } = chooseVictim(state);
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
      const statement = { ...request, groups: groupsOf(request.caller), level: levelOf(request.ranMs ?? 0, shortMs) };
      if (hasSlot(state, statement)) return start(statement);
      const slot = join(state, statement, signal);
      makeRoom();
      return slot;
    },
  };
}

// Slots.

/** True if a slot is free for a statement while others run: one of all, and one of those of its tenant. */
function hasSlot(
  { running, maxConcurrent, maxPerTenant }: State,
  { caller, level }: Placed,
  others: readonly Running[] = [...running],
): boolean {
  const ofTenant = others.filter((one) => one.caller.tenant === caller.tenant);
  return isFree(level, others, maxConcurrent) && isFree(level, ofTenant, maxPerTenant);
}

/** True if one of `max` slots is free for a statement of a level. */
function isFree(level: number, running: readonly Running[], max: number): boolean {
  if (running.length >= max) return false;
  for (let long = LONG_LEVEL; long <= level; long++) {
    // Each long level leaves one more slot to the levels below.
    const slots = Math.max(1, max - 1 - (long - LONG_LEVEL));
    if (running.filter((one) => one.level >= long).length >= slots) return false;
  }
  return true;
}

// Interruptions.

/** Chooses a statement to interrupt for the next waiting statement of each level without a slot, lowest level first. */
function chooseVictim(state: State): Choice {
  const waitMs: number[] = [];
  for (let level = 0; level < LAST_LEVEL; level++) {
    const [next] = inOrder(state, (one) => one.level === level);
    if (next === undefined || hasSlot(state, next)) continue;
    const { victim, inMs } = findVictim(state, next);
    if (victim !== undefined) return { victim };
    if (inMs !== undefined) waitMs.push(inMs);
  }
  return waitMs.length === 0 ? {} : { inMs: Math.min(...waitMs) };
}

/**
 * Finds the statement to interrupt for a waiting one. Candidates have run for longer than both their level and that of the
 * waiting one allow. Of these, it is the one of the caller with the most usage that has run for the shortest time.
 */
function findVictim(state: State, next: Waiting): Choice {
  const { counts, shortMs } = state;
  const tried = candidatesFor(state, next).flatMap((one) => {
    if (one.runs === undefined) return [];
    const ranMs = one.runs.clock();
    const leftMs = limitOf(Math.max(one.level, next.level), shortMs) - ranMs;
    return [{ one, ranMs, leftMs, ageMs: performance.now() - one.runs.since }];
  });
  // The youngest may finish soon.
  const youngest = Math.min(...tried.map(({ ageMs }) => ageMs));
  if (youngest < shortMs) return { inMs: shortMs - youngest };
  const [victim] = tried
    .filter(({ leftMs }) => leftMs <= 0)
    .toSorted((a, b) => counts.compare(b.one.groups, a.one.groups) || a.ranMs - b.ranMs);
  if (victim !== undefined) return { victim: victim.one };
  return tried.length === 0 ? {} : { inMs: Math.min(...tried.map(({ leftMs }) => leftMs)) };
}

/**
 * Returns the statements that a waiting one could replace, youngest first; for a quick one, only quick ones if there
 * are any.
 */
function candidatesFor(state: State, next: Waiting): readonly Running[] {
  const running = [...state.running];
  const all = running.toReversed().filter((one) => {
    if (one.isSending || one.level === LAST_LEVEL) return false;
    // A long statement must not replace one of the same caller: nothing would be gained.
    if (next.level >= LONG_LEVEL && state.counts.compare(next.groups, one.groups) >= 0) return false;
    const others = running.filter((other) => other !== one);
    return hasSlot(state, next, others);
  });
  const quick = all.filter((one) => one.level < LONG_LEVEL);
  return next.level < LONG_LEVEL && quick.length > 0 ? quick : all;
}

// Waiting.

async function join(state: State, statement: Placed, signal: AbortSignal): Promise<Slot> {
  const { waiting, counts, maxQueued } = state;
  // An interrupted statement was admitted before.
  if (statement.level === 0 && waiting.size >= maxQueued) refuseOne(state, statement.groups);
  return new Promise<Slot>((resolve, reject) => {
    const one: Waiting = {
      ...statement,
      begin(slot) {
        stopListening();
        resolve(slot);
      },
      refuse(error) {
        stopListening();
        reject(error);
      },
    };
    waiting.add(one);
    counts.came(one.groups);
    statement.onWait?.(() => placeOf(state, one));
    const stopListening = onAbort(signal, () => {
      leave(state, one);
      reject(signal.reason);
    });
  });
}

function leave({ waiting, counts }: State, one: Waiting): void {
  waiting.delete(one);
  counts.left(one.groups);
}

/** Makes room for a client with fewer waiting statements: refuses the newest one of the client with the most. */
function refuseOne(state: State, groups: readonly string[]): void {
  const crowd = state.counts.mostWaiting(groups);
  const newest = [...state.waiting].findLast((one) => crowd !== undefined && one.groups.includes(crowd));
  if (newest === undefined) {
    const { maxQueued } = state;
    throw busy(maxQueued === 0 ? 'and no statement may wait' : `and ${maxQueued} statements are waiting already`);
  }
  leave(state, newest);
  newest.refuse(busy('and this client has the most waiting statements'));
}

/**
 * Sorts the waiting statements: the caller with the fewest running ones first, then the one with the least usage after
 * this one.
 */
function inOrder({ waiting, counts, shortMs }: State, isIncluded: (one: Waiting) => boolean): readonly Waiting[] {
  const cost = ({ level }: Waiting): number => costOf(level, shortMs);
  return [...waiting]
    .filter(isIncluded)
    .toSorted((a, b) => counts.compare(a.groups, b.groups, cost(a) - cost(b)) || a.order - b.order);
}

/** Returns the place of a statement among those of all levels. */
function placeOf(state: State, one: Waiting): QueuePlace {
  const position = inOrder(state, () => true).indexOf(one) + 1;
  return { position: Math.max(position, 1), length: Math.max(state.waiting.size, 1) };
}

/**
 * Returns the next statement that has a slot. The slot of an interrupted one goes to another of its level or below, if one
 * waits.
 */
function nextWaiting(state: State, { controller, order, ranMs }: Running): Waiting | undefined {
  const belowLevel = Math.max(levelOf(ranMs, state.shortMs), LONG_LEVEL);
  const allowed = inOrder(state, (one) => hasSlot(state, one));
  const preferred = allowed.filter((one) => controller.signal.aborted && one.order !== order && one.level < belowLevel);
  return oldestHead(preferred.length > 0 ? preferred : allowed);
}

/**
 * Of the next quick statement and the next one of each long level, returns the one that arrived first, so that none
 * starves.
 */
function oldestHead(line: readonly Waiting[]): Waiting | undefined {
  const heads = new Map<number, Waiting>();
  for (const one of line) {
    const band = Math.max(one.level, LONG_LEVEL - 1);
    if (!heads.has(band)) heads.set(band, one);
  }
  return [...heads.values()].toSorted((a, b) => a.order - b.order)[0];
}

function busy(why: string): ServiceError {
  return new ServiceError('too_many_requests', `All SQL engines are busy, ${why}.`);
}

/** Returns how many milliseconds of its limits a statement has used. */
export type StatementClock = () => number;

/** With less than a tenth of a core, a statement waits for the CPU more than it works. */
const MAX_WALL_PER_CPU = 10;
/** A statement waiting for the disk uses no CPU either, but holds its slot. */
const MIN_SHARE_OF_WALL = 1 / 4;
/** The minimum time between checks: a clock may run slower than wall time. */
const LOOK_MS = 10;

/**
 * Starts the clock of a statement: wall time, but at most ten times the CPU time of its process since then, and at
 * least a quarter of the wall time. So a short statement stays short on a busy machine. If the system does not report the
 * CPU time, the clock shows wall time.
 */
export function startClock(cpuMs: () => number | undefined): StatementClock {
  const startedAt = performance.now();
  const cpuAtStart = cpuMs();
  let lastCpu = cpuAtStart;
  return () => {
    const wall = performance.now() - startedAt;
    if (cpuAtStart === undefined) return wall;
    lastCpu = cpuMs() ?? lastCpu ?? cpuAtStart;
    return Math.min(wall, Math.max(MAX_WALL_PER_CPU * (lastCpu - cpuAtStart), MIN_SHARE_OF_WALL * wall));
  };
}

/** Calls back when a clock reaches a time, unless stopped before. */
export function whenReached(clock: StatementClock, ms: number, work: () => void): { stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  function look(): void {
    const left = ms - clock();
    if (left <= 0) work();
    else timer = setTimeout(look, lookAgainIn(left)).unref();
  }
  look();
  return { stop: () => clearTimeout(timer) };
}

/** Returns the delay in milliseconds until the next check of a clock. */
function lookAgainIn(leftMs: number): number {
  return Math.max(leftMs, LOOK_MS);
}
