import type { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import { Exchange } from './upstream-request.ts';

/** The exchanges under way. */
export interface RunningExchanges {
  /** Opens one, which counts as running until it ends. */
  open(call: Call): Exchange;
  abortAll(failure: ServiceError): void;
}

/** How late a deadline may be noticed. */
const PERIOD_MS = 20;

/** Keeps the exchanges under way and their time: one timer for all, because one for each would cost more than they. */
export function createRunningExchanges(): RunningExchanges {
  // Not a `Set`: one through which much passes keeps what has left it until the whole heap is collected.
  const running: Exchange[] = [];
  let timer: NodeJS.Timeout | undefined;

  const remove = (exchange: Exchange) => {
    const last = running.pop();
    if (last !== undefined && last !== exchange) running[running.indexOf(exchange)] = last;
  };

  const checkTime = () => {
    const nowMs = performance.now();
    // Backwards, because one that ends leaves its place to the last.
    for (let i = running.length - 1; i >= 0; i -= 1) running[i]?.checkTime(nowMs);
    if (running.length > 0) timer?.refresh();
    else timer = undefined;
  };

  return {
    open(call) {
      const exchange = new Exchange(call, remove);
      running.push(exchange);
      // It keeps no process alive: the connection to the database does.
      timer ??= setTimeout(checkTime, PERIOD_MS).unref();
      return exchange;
    },
    abortAll(failure) {
      // A copy, because each one leaves the list as it ends.
      for (const exchange of running.slice()) exchange.abort(failure);
    },
  };
}
