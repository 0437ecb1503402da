import { ServiceError } from '@svc/errors';

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
