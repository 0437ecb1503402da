import { cancelledError, onAbort, type ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';

type AbortListener = (failure: ServiceError) => void;

/** One request in flight. Every early end goes through `abort`; the first reason wins. */
export class UpstreamRequest {
  readonly #inFlight: Set<UpstreamRequest>;
  readonly #listeners: AbortListener[] = [];
  #deadline: NodeJS.Timeout | undefined;
  #failure: ServiceError | undefined;
  #isOver = false;
  /** Undefined while the constructor runs: it may already abort. */
  readonly #stopWatching: (() => void) | undefined;

  /** Adds the request to `inFlight` until it ends. Aborts when the call is cancelled. */
  constructor({ signal }: Call, inFlight: Set<UpstreamRequest>) {
    this.#inFlight = inFlight;
    inFlight.add(this);
    this.#stopWatching = onAbort(signal, () => this.abort(cancelled(signal)));
  }

  /** Why the request ended early; undefined if it did not. */
  get failure(): ServiceError | undefined {
    return this.#failure;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Sets a deadline: aborts with the error of `lateness` unless `stopWaiting` is called within `ms`. Not after the end. */
  waitFor(ms: number, lateness: () => ServiceError): void {
    if (this.#isOver) return;
    this.stopWaiting();
    // It need not keep the process alive: the connection to the database does.
    this.#deadline = setTimeout(() => this.abort(lateness()), ms).unref();
  }

  /** Clears the deadline. */
  stopWaiting(): void {
    clearTimeout(this.#deadline);
  }

  /** Adds a listener for an early end. */
  onAbort(listener: AbortListener): void {
    this.#listeners.push(listener);
  }

  abort(failure: ServiceError): void {
    if (this.#isOver) return;
    this.#failure = failure;
    this.end();
    for (const listener of this.#listeners) listener(failure);
  }

  /** Ends the request, successful or not, and removes its timers and its abort listener. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.stopWaiting();
    this.#stopWatching?.();
    this.#inFlight.delete(this);
  }
}

/** The failure of a request whose call was cancelled. */
export function cancelled({ reason }: AbortSignal): ServiceError {
  return cancelledError(reason, 'The request was cancelled before the time-series database had answered.');
}
