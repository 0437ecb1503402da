import { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';

/** One request under way. Whatever ends it early goes through `abort`, and the first reason stays. */
export interface Exchange {
  /** Why it ended early. */
  readonly failure: ServiceError | undefined;
  readonly isOver: boolean;
  /** Takes what is to be done when the exchange ends early. */
  onAbort(listener: (failure: ServiceError) => void): void;
  abort(failure: ServiceError): void;
  /** It is over, well or not: nothing is listened to any more. */
  end(): void;
}

/** Opens an exchange that the call's signal ends. `onEnd` is called once, when it is over. */
export function openExchange(call: Call, onEnd: (exchange: Exchange) => void): Exchange {
  const listeners: ((failure: ServiceError) => void)[] = [];
  let failure: ServiceError | undefined;
  let isOver = false;
  const onCallAborted = () => exchange.abort(cancelled(call.signal));

  const exchange: Exchange = {
    get failure() {
      return failure;
    },
    get isOver() {
      return isOver;
    },
    onAbort(listener) {
      listeners.push(listener);
    },
    abort(reason) {
      if (isOver) return;
      failure = reason;
      exchange.end();
      for (const listener of listeners) listener(reason);
    },
    end() {
      if (isOver) return;
      isOver = true;
      call.signal.removeEventListener('abort', onCallAborted);
      onEnd(exchange);
    },
  };
  call.signal.addEventListener('abort', onCallAborted, { once: true });
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
