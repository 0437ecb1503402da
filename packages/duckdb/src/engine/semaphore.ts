/** Lets so many at a time do something; others wait for their turn. */
export interface Slots {
  use<T>(run: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** So many slots, all free. */
export function createSlots(count: number): Slots {
  const waiting = new Set<() => void>();
  let free = count;

  async function take(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (free > 0) {
      free--;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => {
        waiting.delete(begin);
        reject(signal?.reason instanceof Error ? signal.reason : new Error('Cancelled.'));
      };
      const begin = (): void => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      waiting.add(begin);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  return {
    async use(run, signal) {
      await take(signal);
      try {
        return await run();
      } finally {
        const [next] = waiting;
        if (next === undefined) {
          free++;
        } else {
          waiting.delete(next);
          next();
        }
      }
    },
  };
}
