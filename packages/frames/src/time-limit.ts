import { cancelledError, onAbort, ServiceError } from '@svc/errors';

/** A timeout whose signal is also aborted with that of the caller. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** Restarts the timeout. */
  start(): void;
  /** Stops the timeout. */
  stop(): void;
  /** Aborts the signal, unless it is aborted already. */
  abort(reason: ServiceError): void;
}

/** Options of `createTimeLimit`. */
export interface TimeLimitOptions {
  readonly sql: string;
  readonly timeoutMs: number;
  /** The name of the setting, for the hint. */
  readonly setting: string;
}

/** Creates and starts the time limit of a statement. */
export function createTimeLimit(outer: AbortSignal, options: TimeLimitOptions): TimeLimit {
  const { timeoutMs } = options;
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let stopListening = (): void => undefined;

  function stop(): void {
    clearTimeout(timer);
  }

  function start(): void {
    stop();
    if (!controller.signal.aborted) timer = setTimeout(() => abort(tooLate(options)), timeoutMs);
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

function tooLate({ timeoutMs, sql, setting }: TimeLimitOptions): ServiceError {
  return new ServiceError('deadline_exceeded', `The SQL did not return rows within ${timeoutMs} ms.`, {
    hint: `Ask for less, or raise ${setting}.`,
    query: sql,
  });
}
