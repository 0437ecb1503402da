import { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';

/** One request under way. Whatever ends it early goes through `abort`, and the first reason stays. */
export interface Exchange {
  /** Why it ended early. */
  readonly failure: ServiceError | undefined;
  readonly isOver: boolean;
  /** Ends it from now on when the call is cancelled. */
  watch(): void;
  /** Takes what is to be done when the exchange ends early. */
  onAbort(listener: (failure: ServiceError) => void): void;
  abort(failure: ServiceError): void;
  /** It is over, well or not: nothing is listened to any more. */
  end(): void;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Opens an exchange that the call's signal ends once it is watched. `onEnd` is called once, when it is over. */
export function openExchange(call: Call, onEnd: (exchange: Exchange) => void): Exchange {
  const listeners: ((failure: ServiceError) => void)[] = [];
  let watched: AbortSignal | undefined;
  const onCallAborted = () => exchange.abort(cancelled(call.signal));

  const exchange: Writable<Exchange> = {
    failure: undefined,
    isOver: false,
    watch() {
      if (exchange.isOver || watched !== undefined) return;
      watched = call.signal;
      if (watched.aborted) onCallAborted();
      else watched.addEventListener('abort', onCallAborted, { once: true });
    },
    onAbort(listener) {
      listeners.push(listener);
    },
    abort(failure) {
      if (exchange.isOver) return;
      exchange.failure = failure;
      exchange.end();
      for (const listener of listeners) listener(failure);
    },
    end() {
      if (exchange.isOver) return;
      exchange.isOver = true;
      watched?.removeEventListener('abort', onCallAborted);
      onEnd(exchange);
    },
  };
  return exchange;
}

/** Why a call's signal was aborted. One that carries a `ServiceError` (a deadline, a stop) says it itself. */
export function cancelled(signal: AbortSignal): ServiceError {
  const reason: unknown = signal.reason;
  if (reason instanceof ServiceError) return reason;
  return new ServiceError('cancelled', 'The request was cancelled before the time-series database had answered.', {
    cause: reason,
  });
}
