import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/** How much memory V8 may allocate between two full collections. */
const ROOM_BYTES = 128 * 1024 * 1024;

/** The number of running tasks. */
let running = 0;

/**
 * Runs a task through which many large buffers pass. V8 counts their memory as growth of its heap, and lets the heap about
 * double: as it is small, a full collection would follow every 15 MB of buffers, and all of them would take longer than
 * the task. V8 takes the growth as a percentage, which is set here for the current size of the heap.
 */
export async function withHeapRoom<T>(task: () => Promise<T>): Promise<T> {
  running++;
  setGrowth(Math.round((100 * ROOM_BYTES) / getHeapStatistics().used_heap_size));
  try {
    return await task();
  } finally {
    // Not kept: V8 uses a code cache only with the flags that it was written with.
    if (--running === 0) setGrowth(DEFAULT_GROWTH);
  }
}

const DEFAULT_GROWTH = 0;
/** A large heap is left to V8, which chooses a growth of up to this by itself. */
const MIN_GROWTH = 300;
/** The heap may get larger during the task. */
const MAX_GROWTH = 1000;

function setGrowth(percent: number): void {
  const growth = percent < MIN_GROWTH ? DEFAULT_GROWTH : Math.min(percent, MAX_GROWTH);
  setFlagsFromString(`--heap-growing-percent=${growth}`);
}
