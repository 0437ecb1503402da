import { cancelledError, onAbort, type ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';

/** Most responses have arrived by then, so that most requests never need an abort listener. */
const WATCHED_AFTER_MS = 20;

type AbortListener = (failure: ServiceError) => void;

/**
 * One request in flight. Every early end goes through `abort`; the first reason wins. A class, because creating closures for
 * each request costs more than a small response.
 */
export class UpstreamRequest {
  readonly #call: Call;
  readonly #onEnd: (upstream: UpstreamRequest) => void;
  readonly #listeners: AbortListener[] = [];
  readonly #startMs = performance.now();
  #failure: ServiceError | undefined;
  #isOver = false;
  #stopWatching: (() => void) | undefined;
  #dueMs = Infinity;
  #lateness: (() => ServiceError) | undefined;

  /** `onEnd` is called once, when the request ends. */
  constructor(call: Call, onEnd: (upstream: UpstreamRequest) => void) {
    this.#call = call;
    this.#onEnd = onEnd;
  }

  /** Why the request ended early; undefined if it did not. */
  get failure(): ServiceError | undefined {
    return this.#failure;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Sets a deadline: aborts with the error of `lateness` unless `stopWaiting` is called within `ms`. */
  waitFor(ms: number, lateness: () => ServiceError): void {
    this.#dueMs = performance.now() + ms;
    this.#lateness = lateness;
  }

  /** Clears the deadline. */
  stopWaiting(): void {
    this.#dueMs = Infinity;
  }

  /** Aborts if the deadline has passed. */
  checkTime(nowMs: number): void {
    if (nowMs - this.#startMs >= WATCHED_AFTER_MS) this.watch();
    if (nowMs >= this.#dueMs && this.#lateness !== undefined) this.abort(this.#lateness());
  }

  /** From now on, aborts when the call is cancelled. */
  watch(): void {
    if (this.#isOver || this.#stopWatching !== undefined) return;
    const { signal } = this.#call;
    this.#stopWatching = onAbort(signal, () => this.abort(cancelled(signal)));
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

  /** Ends the request, successful or not, and removes its abort listener. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopWatching?.();
    this.#onEnd(this);
  }
}

/** The failure of a request whose call was cancelled. */
export function cancelled({ reason }: AbortSignal): ServiceError {
  return cancelledError(reason, 'The request was cancelled before the time-series database had answered.');
}
