/** Returns how many milliseconds of its limits a statement has used. */
export type StatementClock = () => number;

/** A statement that gets less than a tenth of a core waits for the CPU more than it works. */
const MAX_WALL_PER_CPU = 10;
/** A statement that waits for the disk uses no CPU either, but holds its slot. */
const MIN_SHARE_OF_WALL = 1 / 4;
/** The minimum time between checks: a clock may run slower than wall time. */
const LOOK_MS = 10;

/**
 * Starts the clock of a statement: wall time, but at most ten times the CPU time that its process has used since, and at
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
export function lookAgainIn(leftMs: number): number {
  return Math.max(leftMs, LOOK_MS);
}
