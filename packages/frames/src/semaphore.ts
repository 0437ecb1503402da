import { abortError, onAbort } from '@svc/errors';
import type { QueuePlace } from './engine.ts';

/** A counting semaphore. Waiters get permits in order of arrival. */
export interface Semaphore {
  /** The number of waiters. */
  waiting(): number;
  /**
   * Waits for a permit until the signal is aborted. The function that it returns releases the permit, once. `onWait` is
   * called if there is no free permit; `place` returns the current place among the waiters.
   */
  acquire(signal?: AbortSignal, onWait?: (place: () => QueuePlace) => void): Promise<() => void>;
  /** Runs a task while holding one permit. */
  use<T>(run: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Creates a semaphore with this number of permits. */
export function createSemaphore(permits: number): Semaphore {
  const waiters = new Set<() => void>();
  let free = permits;

  async function acquire(signal?: AbortSignal, onWait?: (place: () => QueuePlace) => void): Promise<() => void> {
    if (signal?.aborted === true) throw abortError(signal.reason);
    if (free > 0) free--;
    else await nextPermit(signal, onWait);
    let isReleased = false;
    return () => {
      if (!isReleased) release();
      isReleased = true;
    };
  }

  function placeOf(waiter: () => void): QueuePlace {
    const position = [...waiters].indexOf(waiter) + 1;
    return { position: Math.max(position, 1), length: Math.max(waiters.size, 1) };
  }

  function nextPermit(
    signal: AbortSignal | undefined,
    onWait: ((place: () => QueuePlace) => void) | undefined,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        stopListening();
        resolve();
      };
      waiters.add(begin);
      onWait?.(() => placeOf(begin));
      const stopListening = onAbort(signal, () => {
        waiters.delete(begin);
        reject(abortError(signal?.reason));
      });
    });
  }

  function release(): void {
    const [next] = waiters;
    if (next === undefined) {
      free++;
      return;
    }
    waiters.delete(next);
    next();
  }

  return {
    waiting: () => waiters.size,
    acquire,
    async use(run, signal) {
      const done = await acquire(signal);
      try {
        return await run();
      } finally {
        done();
      }
    },
  };
}
