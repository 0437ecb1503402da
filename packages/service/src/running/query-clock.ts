/** How long a statement took until its first rows. */
export interface QueryTiming {
  /** How long it waited for the engine. */
  readonly waitMs: number;
  /** How long it ran. */
  readonly executeMs: number;
}

/** Measures the phases of a statement, which may wait more than once. */
export interface QueryClock {
  /** It begins to wait. */
  wait(): void;
  /** It runs, perhaps again. */
  run(): void;
  /** The first rows are there. */
  send(): void;
  elapsedMs(): number;
  /** Until now, or until the first rows. */
  timing(): QueryTiming;
}

/** Starts a clock. */
export function createQueryClock(): QueryClock {
  const startMs = performance.now();
  let waitedMs = 0;
  let waitsSinceMs: number | undefined;
  let firstRowsMs: number | undefined;

  function run(): void {
    if (waitsSinceMs !== undefined) waitedMs += performance.now() - waitsSinceMs;
    waitsSinceMs = undefined;
  }

  return {
    wait: () => void (waitsSinceMs ??= performance.now()),
    run,
    send() {
      run();
      firstRowsMs ??= performance.now();
    },
    elapsedMs: () => performance.now() - startMs,
    timing() {
      const nowMs = firstRowsMs ?? performance.now();
      const waitMs = waitedMs + (waitsSinceMs === undefined ? 0 : nowMs - waitsSinceMs);
      return { waitMs, executeMs: nowMs - startMs - waitMs };
    },
  };
}
