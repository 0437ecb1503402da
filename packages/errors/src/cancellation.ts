import { ServiceError } from './service-error.ts';

/**
 * The error of an operation whose signal was aborted. A reason that is a `ServiceError` (a deadline, a stop) is returned as
 * it is; any other reason becomes the `cause` of a `cancelled` error.
 */
export function cancelledError(reason: unknown, message = 'The request was cancelled.'): ServiceError {
  return reason instanceof ServiceError ? reason : new ServiceError('cancelled', message, { cause: reason });
}

/** The error of an aborted wait: the abort reason unchanged if it is an error, as `throwIfAborted` throws it. */
export function abortError(reason: unknown): Error {
  return reason instanceof Error ? reason : cancelledError(reason);
}

/**
 * Calls the listener when the signal is aborted, immediately if it already is, and at most once. Returns a function that
 * removes the listener: a signal that outlives the operation would otherwise keep it in memory.
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal === undefined) return () => {};
  if (signal.aborted) {
    listener();
    return () => {};
  }
  const onEvent = (): void => listener();
  signal.addEventListener('abort', onEvent, { once: true });
  return () => signal.removeEventListener('abort', onEvent);
}

/**
 * Waits for a result until the signal is aborted, then fails with `cancelledError` of its reason. The work goes on, and a
 * failure of it is ignored then.
 */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  let stopListening = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stopListening = onAbort(signal, () => reject(cancelledError(signal.reason)));
  });
  try {
    // If both have settled, the first one wins: an aborted signal.
    return await Promise.race([aborted, work]);
  } finally {
    stopListening();
  }
}
