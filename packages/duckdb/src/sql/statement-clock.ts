/** How long a statement has run, in milliseconds, as it counts for its limits. */
export type StatementClock = () => number;

/** A statement that gets less than a tenth of a core waits for the processor more than it works. */
const MAX_WALL_PER_CPU = 10;
/** One that waits for its disk does not work either, and has a place all the same. */
const MIN_SHARE_OF_WALL = 1 / 4;
/** A clock may be slower than time is: it is not looked at more often than this. */
const LOOK_MS = 10;

/**
 * Starts the clock of a statement: wall time, but at most ten times the CPU time that its process has used since, and at
 * least a quarter of the wall time. So a short statement stays short on a busy machine. It is wall time alone if the
 * system does not tell the CPU time.
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

/** Does something when a clock has reached a time, unless it is stopped before. */
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

/** After how many milliseconds a clock that has some to go is looked at again. */
export function lookAgainIn(leftMs: number): number {
  return Math.max(leftMs, LOOK_MS);
}
