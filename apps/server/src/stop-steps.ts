import type { Log } from './observers/log.ts';

/** The steps of a shutdown, so that a late one can name what it waits for. */
export interface StopSteps {
  /** Tracks some work under a name until it is done. */
  run<T>(name: string, work: Promise<T>): Promise<T>;
  /** Returns the names of the pending work. */
  pending(): readonly string[];
  /** Whether the work of this name succeeded. */
  isDone(name: string): boolean;
}

/** After this step no data can be lost. */
export const STORE_STEP = 'the store';

/** Creates an empty set of steps. */
export function createStopSteps(): StopSteps {
  const pending = new Set<string>();
  const done = new Set<string>();
  return {
    async run(name, work) {
      pending.add(name);
      try {
        const result = await work;
        done.add(name);
        return result;
      } finally {
        pending.delete(name);
      }
    },
    pending: () => [...pending],
    isDone: (name) => done.has(name),
  };
}

/** Options of the shutdown deadline. */
export interface StopDeadlineOptions {
  readonly steps: StopSteps;
  /** The grace period of requests in flight. */
  readonly graceMs: number;
  readonly log: Log;
  readonly exit: (code: number) => void;
}

/**
 * Exits the process two seconds after the grace period, even if work is pending. Call it when the signal arrives. The
 * timer does not keep the process alive.
 */
export function startStopDeadline({ steps, graceMs, log, exit }: StopDeadlineOptions): void {
  const deadlineMs = graceMs + AFTER_GRACE_MS;
  setTimeout(
    () => {
      const pending = steps.pending();
      const left = pending.length > 0 ? pending : [...new Set(process.getActiveResourcesInfo())];
      log.error(`Shutdown is late: exiting without waiting for ${left.join(', ')}.`, { deadlineMs });
      exit(steps.isDone(STORE_STEP) ? 0 : 1);
    },
    Math.min(deadlineMs, MAX_TIMER_MS),
  ).unref();
}

const AFTER_GRACE_MS = 1900;
/** Node treats a longer delay as none. */
const MAX_TIMER_MS = 2 ** 31 - 1;
