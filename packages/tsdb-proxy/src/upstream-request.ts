import { cancelledError, onAbort, type ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';

/** Most answers are there by then, and whether their clients leave does not matter any more. */
const WATCHED_AFTER_MS = 20;

type AbortListener = (failure: ServiceError) => void;

/**
 * One request under way. Whatever ends it early goes through `abort`, and the first reason stays. A class, because an
 * object with functions of its own for every request costs more than a small answer.
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

  /** `onEnd` is called once, when it is over. */
  constructor(call: Call, onEnd: (upstream: UpstreamRequest) => void) {
    this.#call = call;
    this.#onEnd = onEnd;
  }

  /** Why it ended early. */
  get failure(): ServiceError | undefined {
    return this.#failure;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Waits for something: what has not come in so many milliseconds ends it with that failure. */
  waitFor(ms: number, lateness: () => ServiceError): void {
    this.#dueMs = performance.now() + ms;
    this.#lateness = lateness;
  }

  /** It has come. */
  stopWaiting(): void {
    this.#dueMs = Infinity;
  }

  /** Looks at the clock. */
  checkTime(nowMs: number): void {
    if (nowMs - this.#startMs >= WATCHED_AFTER_MS) this.watch();
    if (nowMs >= this.#dueMs && this.#lateness !== undefined) this.abort(this.#lateness());
  }

  /** Ends it from now on when the call is cancelled. */
  watch(): void {
    if (this.#isOver || this.#stopWatching !== undefined) return;
    const { signal } = this.#call;
    this.#stopWatching = onAbort(signal, () => this.abort(cancelled(signal)));
  }

  /** Takes what is to be done when the request ends early. */
  onAbort(listener: AbortListener): void {
    this.#listeners.push(listener);
  }

  abort(failure: ServiceError): void {
    if (this.#isOver) return;
    this.#failure = failure;
    this.end();
    for (const listener of this.#listeners) listener(failure);
  }

  /** It is over, well or not: nothing is listened to any more. */
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
