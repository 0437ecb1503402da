import type { Log } from './log.ts';

/** What a stop consists of, so that a late one can say what it waits for. */
export interface StopSteps {
  /** Names some work until it is done. */
  run<T>(name: string, work: Promise<T>): Promise<T>;
  /** The names of what is not done yet. */
  pending(): readonly string[];
  /** Whether the work of this name was done, without a failure. */
  isDone(name: string): boolean;
}

/** The step after which nothing can be lost any more. */
export const STORE_STEP = 'the store';

/** No steps yet. */
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

/** How a late stop is ended. */
export interface StopDeadlineOptions {
  readonly steps: StopSteps;
  /** How long running answers may take. */
  readonly graceMs: number;
  readonly log: Log;
  readonly exit: (code: number) => void;
}

/**
 * The last resort: ends the process two seconds after the grace, whatever it waits for. Call it when the signal arrives.
 * It does not keep the process alive.
 */
export function startStopDeadline({ steps, graceMs, log, exit }: StopDeadlineOptions): void {
  const deadlineMs = graceMs + AFTER_GRACE_MS;
  setTimeout(
    () => {
      const pending = steps.pending();
      const left = pending.length > 0 ? pending : [...new Set(process.getActiveResourcesInfo())];
      log.error(`The stop is late: the process ends without waiting for ${left.join(', ')}.`, { deadlineMs });
      exit(steps.isDone(STORE_STEP) ? 0 : 1);
    },
    Math.min(deadlineMs, MAX_TIMER_MS),
  ).unref();
}

const AFTER_GRACE_MS = 1900;
/** Node takes a longer one for no time at all. */
const MAX_TIMER_MS = 2 ** 31 - 1;
