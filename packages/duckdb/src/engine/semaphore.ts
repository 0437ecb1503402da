import { onAbort } from '@svc/errors';
import { abortError } from './child-errors.ts';

/** A counting semaphore. */
export interface Semaphore {
  /** Runs a task while holding one permit. Waits for a permit in order of arrival, until the signal is aborted. */
  use<T>(run: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Creates a semaphore with this number of permits. */
export function createSemaphore(permits: number): Semaphore {
  const waiting = new Set<() => void>();
  let free = permits;

  async function acquire(signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) throw abortError(signal.reason);
    if (free > 0) {
      free--;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        stopListening();
        resolve();
      };
      waiting.add(begin);
      const stopListening = onAbort(signal, () => {
        waiting.delete(begin);
        reject(abortError(signal?.reason));
      });
    });
  }

  function release(): void {
    const [next] = waiting;
    if (next === undefined) {
      free++;
      return;
    }
    waiting.delete(next);
    next();
  }

  return {
    async use(run, signal) {
      await acquire(signal);
      try {
        return await run();
      } finally {
        release();
      }
    },
  };
}
