import { setImmediate } from 'node:timers/promises';
import { cancelledError, onAbort, ServiceError } from '@svc/errors';

/** A promise and the functions that settle it. */
export interface Resolvers<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: Error) => void;
}

/** Creates a promise that is settled from outside, as `Promise.withResolvers` does. */
export function withResolvers<Value>(): Resolvers<Value> {
  let resolve: Resolvers<Value>['resolve'] = ignore;
  let reject: Resolvers<Value>['reject'] = ignore;
  const promise = new Promise<Value>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}

function ignore(): void {
  // The promise constructor replaces it at once.
}

/** How long work may go on before other requests get a turn. */
const MAX_TURN_MS = 5;
/** Without a pause for this long, work began in this turn. */
const IDLE_MS = 100;

/** The clock of the thread: the steps of a request are in several functions, and each alone is short. */
let startMs = 0;
let turn: Promise<void> | undefined;

/**
 * Returns a function to await within long work: it lets the event loop turn if the last turn was some milliseconds ago. All
 * that wait at the same time wait for the same turn.
 */
export function createYield(): () => Promise<void> | undefined {
  return () => {
    const passedMs = performance.now() - startMs;
    if (turn === undefined && passedMs >= MAX_TURN_MS) turn = nextTurn(passedMs >= IDLE_MS);
    return turn;
  };
}

async function nextTurn(isFirst: boolean): Promise<void> {
  // The first one still runs in this turn if the work began with data from a socket or a message from a thread.
  if (isFirst) await setImmediate();
  await setImmediate();
  startMs = performance.now();
  turn = undefined;
}

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
