import type { CallSource } from '@svc/frames/internal';

/**
 * Levels of a feedback queue. A statement starts at level 0 and rises when it is interrupted. Each level allows four times
 * the run time of the one before, so interruptions waste at most a third of the time it may then use. At the last level
 * it is not interrupted.
 */
export const LAST_LEVEL = 3;
/** Statements below this level are quick: one slot is always reserved for them. */
export const LONG_LEVEL = 2;
const GROWTH = 4;

/** The run time expected of a statement of a level. */
export function costOf(level: number, shortMs: number): number {
  return shortMs * GROWTH ** level;
}

/** How long a statement of a level may run while others wait. */
export function limitOf(level: number, shortMs: number): number {
  return level >= LAST_LEVEL ? Infinity : costOf(level, shortMs);
}

/** The level of a statement that has run for this long without rows: the first one that allows more. */
export function levelOf(ranMs: number, shortMs: number): number {
  let level = 0;
  while (limitOf(level, shortMs) <= ranMs) level += 1;
  return level;
}

/** The tenant and the level of a statement that runs or waits. */
interface Placed {
  readonly caller: Pick<CallSource, 'tenant'>;
  readonly level: number;
}

/** Slots in all, and the most that one tenant holds. */
export interface SlotLimits {
  readonly maxConcurrent: number;
  readonly maxPerTenant: number;
}

/** True if a slot is free for a statement while others run: one of all, and one of those of its tenant. */
export function hasSlotFor(
  { caller, level }: Placed,
  running: readonly Placed[],
  { maxConcurrent, maxPerTenant }: SlotLimits,
): boolean {
  const ofTenant = running.filter((one) => one.caller.tenant === caller.tenant);
  return isFree(level, running, maxConcurrent) && isFree(level, ofTenant, maxPerTenant);
}

function isFree(level: number, running: readonly Placed[], max: number): boolean {
  if (running.length >= max) return false;
  for (let long = LONG_LEVEL; long <= level; long++) {
    // Each long level leaves one more slot to the levels below.
    const slots = Math.max(1, max - 1 - (long - LONG_LEVEL));
    if (running.filter((one) => one.level >= long).length >= slots) return false;
  }
  return true;
}
