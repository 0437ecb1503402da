import { once } from 'node:events';
import { onAbort } from '@svc/errors';
import { createYield } from '@svc/frames/internal';

/**
 * Yields the items of a source until the signal aborts, then throws its reason. If the source ends although `isComplete`
 * returns false, the connection broke: waits for the abort, so that the request does not look complete. The event loop
 * runs between items that take long together: one chunk of a connection can have thousands of empty messages.
 */
export async function* untilAborted<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal,
  isComplete: () => boolean,
): AsyncGenerator<T, void, undefined> {
  const items = source[Symbol.asyncIterator]();
  const turn = createYield();
  for (;;) {
    await turn();
    signal.throwIfAborted();
    const next = await nextOrAbort(items, signal);
    signal.throwIfAborted();
    if (next === undefined || (next.done === true && !isComplete())) {
      await once(signal, 'abort');
    } else if (next.done === true) {
      return;
    } else {
      yield next.value;
    }
  }
}

/** Returns the next item; undefined if the signal aborts first. */
async function nextOrAbort<T>(items: AsyncIterator<T>, signal: AbortSignal): Promise<IteratorResult<T> | undefined> {
  // One listener per item: a promise that outlives the items would keep every one of them in memory.
  let stopListening = (): void => undefined;
  const aborted = new Promise<undefined>((resolve) => {
    stopListening = onAbort(signal, () => resolve(undefined));
  });
  try {
    return await Promise.race([items.next(), aborted]);
  } finally {
    stopListening();
  }
}
