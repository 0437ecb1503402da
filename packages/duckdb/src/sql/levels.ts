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

/** Whether a slot is free for a statement of a level while statements of these levels run. */
export function hasSlotFor(level: number, running: readonly number[], maxConcurrent: number): boolean {
  if (running.length >= maxConcurrent) return false;
  for (let long = LONG_LEVEL; long <= level; long++) {
    // Each long level leaves one more slot to the levels below.
    const slots = Math.max(1, maxConcurrent - 1 - (long - LONG_LEVEL));
    if (running.filter((one) => one >= long).length >= slots) return false;
  }
  return true;
}
