import { ServiceError } from '@svc/errors';

/** How slowly clients may send their uploads. */
export interface UploadPace {
  /** The longest wait for the next message, and the window of the rate. */
  readonly idleTimeoutMs: number;
  /** The least rate; 0: any. */
  readonly minBytesPerSecond: number;
}

/**
 * Yields the messages of an upload. Throws if the next one does not come, or if they come too slowly: a client that sends a
 * byte now and then is never idle, but occupies a call and an upload. Only time in which the server waits for the client
 * counts.
 */
export async function* withPace<T>(
  source: AsyncIterable<T>,
  { idleTimeoutMs, minBytesPerSecond }: UploadPace,
  sizeOf: (message: T) => number,
): AsyncGenerator<T, void, undefined> {
  let bytes = 0;
  let waitedMs = 0;
  let startMs = performance.now();
  for await (const message of withIdleTimeout(source, idleTimeoutMs)) {
    waitedMs += performance.now() - startMs;
    bytes += sizeOf(message);
    if (waitedMs >= idleTimeoutMs) {
      if (bytes < (minBytesPerSecond * waitedMs) / 1000) throw tooSlow(minBytesPerSecond);
      bytes = 0;
      waitedMs = 0;
    }
    yield message;
    startMs = performance.now();
  }
}

function tooSlow(minBytesPerSecond: number): ServiceError {
  return new ServiceError(
    'deadline_exceeded',
    `The client sent its upload more slowly than ${minBytesPerSecond} bytes per second.`,
    { hint: 'Collect the rows first, and send them without pauses.' },
  );
}

/** Yields the messages of a client. Throws if the next one takes longer than `idleTimeoutMs`. */
export async function* withIdleTimeout<T>(
  source: AsyncIterable<T>,
  idleTimeoutMs: number,
): AsyncGenerator<T, void, undefined> {
  const items = source[Symbol.asyncIterator]();
  for (;;) {
    const next = await nextWithTimeout(items, idleTimeoutMs);
    if (next.done === true) return;
    yield next.value;
  }
}

async function nextWithTimeout<T>(items: AsyncIterator<T>, idleTimeoutMs: number): Promise<IteratorResult<T>> {
  let timer: NodeJS.Timeout | undefined;
  const idle = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(idleError(idleTimeoutMs)), idleTimeoutMs);
  });
  try {
    return await Promise.race([items.next(), idle]);
  } finally {
    clearTimeout(timer);
  }
}

function idleError(idleTimeoutMs: number): ServiceError {
  return new ServiceError('deadline_exceeded', `The client sent no data of its upload for ${idleTimeoutMs} ms.`, {
    hint: 'Send the upload again, without long pauses.',
  });
}
