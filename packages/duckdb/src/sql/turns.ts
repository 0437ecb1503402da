import { createCounts, type GroupCounts, groupsOf } from './asker-groups.ts';
import { createWaitingLine, type TurnRequest } from './waiting-line.ts';

/** One statement in a place. */
export interface Turn {
  /** Aborted when the place is needed: the statement is to stop, end its turn and wait for another one, as a long one. */
  readonly interrupted: AbortSignal;
  /** The statement runs: how long, counts from now on. */
  begin(): void;
  /** The statement has given rows. What was sent cannot be sent again, so it is not interrupted from now on. */
  keep(): void;
  end(): void;
}

/** Places for statements, shared fairly by those who ask. */
export interface Turns {
  /** How many places are taken. */
  readonly running: number;
  /** Resolves when it is the turn of the statement. */
  wait(request: TurnRequest, signal: AbortSignal): Promise<Turn>;
}

/** How many places there are, and how they are shared. */
export interface TurnsOptions {
  readonly maxConcurrent: number;
  readonly maxQueued: number;
  /** A statement that runs for longer than this can be interrupted when another one waits. */
  readonly shortMs: number;
}

interface Running {
  readonly groups: readonly string[];
  readonly isLong: boolean;
  readonly controller: AbortController;
  /** Undefined until the statement runs. */
  begunAt: number | undefined;
  isKept: boolean;
}

/**
 * All places are free. A free place goes to those who have the fewest: by tenant, then by address, then by connection.
 * One place is always there for statements that were not interrupted yet. If such a statement waits and no place is
 * free, the youngest statement that has run for `shortMs` is interrupted, each at most once. So a short statement waits
 * for `shortMs` at a time, however many long ones there are, and long ones have all other places.
 */
export function createTurns({ maxConcurrent, maxQueued, shortMs }: TurnsOptions): Turns {
  const counts = createCounts();
  const line = createWaitingLine<Turn>(counts, maxQueued);
  const running = new Set<Running>();
  /** One place alone has no room for both kinds. */
  const canInterrupt = maxConcurrent > 1;
  const longPlaces = canInterrupt ? maxConcurrent - 1 : 1;
  let timer: NodeJS.Timeout | undefined;

  function start({ isLong = false }: TurnRequest, groups: readonly string[]): Turn {
    const one: Running = { groups, isLong, controller: new AbortController(), begunAt: undefined, isKept: false };
    running.add(one);
    counts.started(groups);
    return {
      interrupted: one.controller.signal,
      begin() {
        one.begunAt ??= performance.now();
        makeRoom();
      },
      keep() {
        one.isKept = true;
      },
      end() {
        if (!running.delete(one)) return;
        counts.ended(groups);
        startNext(one.controller.signal.aborted);
      },
    };
  }

  function hasPlace(isLong: boolean): boolean {
    if (running.size >= maxConcurrent) return false;
    return !isLong || [...running].filter((one) => one.isLong).length < longPlaces;
  }

  function startNext(isForShort: boolean): void {
    while (hasPlace(false)) {
      const one = line.take(isForShort, hasPlace(true));
      if (one === undefined) break;
      one.begin(start(one, one.groups));
    }
    makeRoom();
  }

  /** Interrupts a statement where a short one waits, or looks again when one has run for long enough. */
  function makeRoom(): void {
    clearTimeout(timer);
    if (!canInterrupt || hasPlace(false) || !line.hasShort()) return;
    const { victim, inMs } = findVictim([...running], counts, shortMs);
    victim?.controller.abort();
    if (inMs !== undefined) timer = setTimeout(makeRoom, inMs).unref();
  }

  return {
    get running() {
      return running.size;
    },
    async wait(request, signal) {
      signal.throwIfAborted();
      const { asker, isLong = false } = request;
      const groups = groupsOf(asker);
      if (hasPlace(isLong)) return start(request, groups);
      const turn = line.join(request, groups, signal);
      makeRoom();
      return turn;
    },
  };
}

/** The statement to interrupt: the youngest of the client with the most. Or after how long there is one. */
function findVictim(
  running: readonly Running[],
  counts: GroupCounts,
  shortMs: number,
): { readonly victim?: Running; readonly inMs?: number } {
  // One at a time: its place is free in a moment.
  if (running.some(({ controller }) => controller.signal.aborted)) return {};
  const tried = running.filter(({ isLong, isKept }) => !isLong && !isKept).toReversed();
  const youngest = Math.min(...tried.map(({ begunAt = Infinity }) => performance.now() - begunAt));
  // One that is still short may leave its place by itself; one that has not begun says so when it has.
  if (youngest < shortMs) return youngest < 0 ? {} : { inMs: shortMs - youngest };
  const [victim] = tried.toSorted((a, b) => counts.compare(b.groups, a.groups));
  return victim === undefined ? {} : { victim };
}
