/** The largest difference to the system clock before the clock is set again. */
const MAX_DRIFT_MS = 5;

/**
 * Returns a clock of Unix time with fractions of milliseconds. It follows the system clock when that is set, but not its
 * jitter, so that a span never ends before one inside of it.
 */
export function createWallClock(systemMs: () => number = Date.now, elapsedMs = () => performance.now()): () => number {
  let originMs = systemMs() - elapsedMs();
  return () => {
    const elapsed = elapsedMs();
    const now = systemMs();
    if (Math.abs(now - originMs - elapsed) > MAX_DRIFT_MS) originMs = now - elapsed;
    return originMs + elapsed;
  };
}
