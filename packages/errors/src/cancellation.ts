import { ServiceError } from './service-error.ts';

/**
 * The error of an operation whose signal was aborted. A reason that is a `ServiceError` (a deadline, a stop) is returned as
 * it is; any other reason becomes the `cause` of a `cancelled` error.
 */
export function cancelledError(reason: unknown, message = 'The request was cancelled.'): ServiceError {
  return reason instanceof ServiceError ? reason : new ServiceError('cancelled', message, { cause: reason });
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
