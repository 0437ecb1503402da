import type { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import { UpstreamRequest } from './upstream-request.ts';

/** The requests under way. */
export interface RunningRequests {
  /** Opens one, which counts as running until it ends. */
  open(call: Call): UpstreamRequest;
  abortAll(failure: ServiceError): void;
}

/** How late a deadline may be noticed. */
const PERIOD_MS = 20;

/** Keeps the requests under way and their time: one timer for all, because one for each would cost more than they. */
export function createRunningRequests(): RunningRequests {
  // Not a `Set`: one through which much passes keeps what has left it until the whole heap is collected.
  const running: UpstreamRequest[] = [];
  let timer: NodeJS.Timeout | undefined;

  const remove = (upstream: UpstreamRequest) => {
    const last = running.pop();
    if (last !== undefined && last !== upstream) running[running.indexOf(upstream)] = last;
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
      const upstream = new UpstreamRequest(call, remove);
      running.push(upstream);
      // It keeps no process alive: the connection to the database does.
      timer ??= setTimeout(checkTime, PERIOD_MS).unref();
      return upstream;
    },
    abortAll(failure) {
      // A copy, because each one leaves the list as it ends.
      for (const upstream of running.slice()) upstream.abort(failure);
    },
  };
}
