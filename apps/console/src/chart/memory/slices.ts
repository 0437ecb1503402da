/** Divides work on many rows into slices, so that the page paints and takes keys between them. */
export interface Slices {
  /** Calls `visit` with 0, 1, … `count - 1`. Throws the signal's reason if the work was cancelled. */
  forEach(count: number, visit: (index: number) => void): Promise<void>;
}

/** Half of a frame at 60 Hz: the other half is for the page. */
const SLICE_MS = 8;
/** Reading the clock takes as long as a few rows. */
const ROWS_PER_LOOK = 32;

export function createSlices(signal?: AbortSignal): Slices {
  let endsAtMs = performance.now() + SLICE_MS;
  return {
    async forEach(count, visit) {
      signal?.throwIfAborted();
      for (let index = 0; index < count; index += 1) {
        if (index % ROWS_PER_LOOK === 0 && performance.now() >= endsAtMs) {
          await nextTask();
          signal?.throwIfAborted();
          endsAtMs = performance.now() + SLICE_MS;
        }
        visit(index);
      }
    },
  };
}

/** Resolves in a task of its own. Timers would wait 4 ms each time, and a second in a hidden tab. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener(
      'message',
      () => {
        port1.close();
        resolve();
      },
      { once: true },
    );
    port1.start();
    port2.postMessage(undefined);
  });
}
