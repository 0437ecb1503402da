import { once } from 'node:events';
import { onAbort } from '@svc/errors';

/**
 * The items of a source, ended with the signal's reason when that aborts. `isComplete` says whether an end of the source
 * is one: where it is not, the source was broken off, and nothing looks finished until the signal says why.
 */
export async function* untilAborted<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal,
  isComplete: () => boolean,
): AsyncGenerator<T, void, undefined> {
  const items = source[Symbol.asyncIterator]();
  for (;;) {
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

/** The next item, or undefined when the signal aborts before there is one. */
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
