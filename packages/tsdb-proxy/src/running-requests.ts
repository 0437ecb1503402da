import type { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import { UpstreamRequest } from './upstream-request.ts';

/** The requests in flight. */
export interface RunningRequests {
  /** Starts a request, which is in flight until it ends. */
  open(call: Call): UpstreamRequest;
  abortAll(failure: ServiceError): void;
}

/** The timer interval: a deadline may be noticed this much late. */
const PERIOD_MS = 20;

/** Tracks the requests in flight and their deadlines with one shared timer: a timer per request would cost too much. */
export function createRunningRequests(): RunningRequests {
  // Not a `Set`: a busy one retains deleted entries until a full garbage collection.
  const running: UpstreamRequest[] = [];
  let timer: NodeJS.Timeout | undefined;

  const remove = (upstream: UpstreamRequest) => {
    const last = running.pop();
    if (last !== undefined && last !== upstream) running[running.indexOf(upstream)] = last;
  };

  const checkTime = () => {
    const nowMs = performance.now();
    // Backwards, because `remove` moves the last request into the gap.
    for (let i = running.length - 1; i >= 0; i -= 1) running[i]?.checkTime(nowMs);
    if (running.length > 0) timer?.refresh();
    else timer = undefined;
  };

  return {
    open(call) {
      const upstream = new UpstreamRequest(call, remove);
      running.push(upstream);
      // The timer need not keep the process alive: the connection to the database does.
      timer ??= setTimeout(checkTime, PERIOD_MS).unref();
      return upstream;
    },
    abortAll(failure) {
      // Copy: each abort removes its request from the list.
      for (const upstream of running.slice()) upstream.abort(failure);
    },
  };
}
