import { cancelledError, onAbort, ServiceError } from '@svc/errors';

/** How long something may take; its signal is aborted when that is over, or the caller's is. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** Begins to count anew. */
  start(): void;
  /** Stops counting. */
  stop(): void;
  /** Aborts the signal, unless that has happened. */
  abort(reason: ServiceError): void;
}

/** A limit for a statement that counts from now on. */
export function createTimeLimit(outer: AbortSignal, timeoutMs: number, sql: string): TimeLimit {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let stopListening = (): void => undefined;

  function stop(): void {
    clearTimeout(timer);
  }

  function start(): void {
    stop();
    if (!controller.signal.aborted) timer = setTimeout(() => abort(tooLate(timeoutMs, sql)), timeoutMs);
  }

  function abort(reason: ServiceError): void {
    stop();
    stopListening();
    controller.abort(reason);
  }

  stopListening = onAbort(outer, () => abort(cancelledError(outer.reason)));
  start();
  return { signal: controller.signal, start, stop, abort };
}

function tooLate(timeoutMs: number, sql: string): ServiceError {
  return new ServiceError('deadline_exceeded', `The SQL did not give rows within ${timeoutMs} ms.`, {
    hint: 'Ask for less, or raise sql.timeout_ms.',
    query: sql,
  });
}
