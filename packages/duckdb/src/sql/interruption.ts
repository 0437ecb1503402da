import type { GroupCounts } from '@svc/frames/internal';
import { hasSlotFor, LAST_LEVEL, limitOf, LONG_LEVEL, type SlotLimits } from './levels.ts';
import type { StatementClock } from './statement-clock.ts';
import type { Waiting } from './wait-queue.ts';

/** A statement that holds a slot. */
export interface Running extends Pick<Waiting<unknown>, 'caller' | 'groups' | 'level' | 'order'> {
  readonly controller: AbortController;
  /** Undefined until the statement runs. */
  runs: { readonly since: number; readonly clock: StatementClock } | undefined;
  /** How long it had run when it was interrupted. */
  ranMs: number;
  isKept: boolean;
}

/** Options of `chooseVictim`. */
export interface InterruptionOptions extends SlotLimits {
  readonly counts: GroupCounts;
  readonly shortMs: number;
}

/** A statement to interrupt, or the delay after which to check again. */
interface Choice {
  readonly victim?: Running;
  readonly inMs?: number;
}

/** Chooses a statement to interrupt for the next waiting statement of each level without a slot, lowest level first. */
export function chooseVictim(
  running: readonly Running[],
  first: (level: number) => Waiting<unknown> | undefined,
  options: InterruptionOptions,
): Choice {
  const waitMs: number[] = [];
  for (let level = 0; level < LAST_LEVEL; level++) {
    const next = first(level);
    if (next === undefined || hasSlotFor(next, running, options)) continue;
    const { victim, inMs } = findVictim(running, next, options);
    if (victim !== undefined) return { victim };
    if (inMs !== undefined) waitMs.push(inMs);
  }
  return waitMs.length === 0 ? {} : { inMs: Math.min(...waitMs) };
}

/**
 * Finds the statement to interrupt for a waiting one. Candidates have run for longer than both their level and that of the
 * waiting one allow. Of these, it is the one of the caller with the most usage that has run for the shortest time.
 */
function findVictim(running: readonly Running[], next: Waiting<unknown>, options: InterruptionOptions): Choice {
  const { counts, shortMs } = options;
  const tried = candidatesFor(running, next, options).flatMap((one) => {
    if (one.runs === undefined) return [];
    const ranMs = one.runs.clock();
    const leftMs = limitOf(Math.max(one.level, next.level), shortMs) - ranMs;
    return [{ one, ranMs, leftMs, ageMs: performance.now() - one.runs.since }];
  });
  // A statement that has just started may finish soon.
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
function candidatesFor(
  running: readonly Running[],
  next: Waiting<unknown>,
  { counts, ...limits }: InterruptionOptions,
): readonly Running[] {
  const { level, groups } = next;
  const all = running.toReversed().filter((one) => {
    if (one.isKept || one.level === LAST_LEVEL) return false;
    // A long statement must not replace one of the same caller: that gains nothing.
    if (level >= LONG_LEVEL && counts.compare(groups, one.groups) >= 0) return false;
    return hasSlotFor(
      next,
      running.filter((other) => other !== one),
      limits,
    );
  });
  const quick = all.filter((one) => one.level < LONG_LEVEL);
  return level < LONG_LEVEL && quick.length > 0 ? quick : all;
}
