/**
 * Levels of a feedback queue. A statement begins at level 0 and rises when it is interrupted; each level lets it run for
 * four times as long as the one before, so what interruptions cost is a third of what it then may use. At the last
 * level it is not interrupted.
 */
export const LAST_LEVEL = 3;
/** Statements below this level are quick: one place is always theirs. */
export const LONG_LEVEL = 2;
const GROWTH = 4;

/** What a statement of a level is expected to take. */
export function costOf(level: number, shortMs: number): number {
  return shortMs * GROWTH ** level;
}

/** How long a statement of a level may run while others wait. */
export function limitOf(level: number, shortMs: number): number {
  return level >= LAST_LEVEL ? Infinity : costOf(level, shortMs);
}

/** The level of a statement that has run for this long without rows: the first one that lets it run for longer. */
export function levelOf(ranMs: number, shortMs: number): number {
  let level = 0;
  while (limitOf(level, shortMs) <= ranMs) level += 1;
  return level;
}

/** Whether a statement of a level has a place beside running ones of these levels. */
export function hasSlotFor(level: number, running: readonly number[], maxConcurrent: number): boolean {
  if (running.length >= maxConcurrent) return false;
  for (let long = LONG_LEVEL; long <= level; long++) {
    // Each long level leaves one more place to those below.
    const slots = Math.max(1, maxConcurrent - 1 - (long - LONG_LEVEL));
    if (running.filter((one) => one >= long).length >= slots) return false;
  }
  return true;
}
