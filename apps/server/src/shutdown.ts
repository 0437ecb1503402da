import type { Server } from 'node:http';
import { constants } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { GrpcServer } from '@svc/grpc';
import type { Service } from '@svc/service';
import type { Connections } from './http/connections.ts';
import type { HttpServer } from './http/create-http-server.ts';
import type { Log } from './observers/log.ts';

/** The parts to stop, and the grace period. */
export interface ShutdownOptions {
  readonly service: Service;
  readonly http: Server;
  readonly connections: Connections;
  /** The server of the metrics alone, if there is one. */
  readonly metrics?: HttpServer | undefined;
  /** Undefined if it was not started yet. */
  readonly grpc?: GrpcServer;
  readonly graceMs: number;
  readonly log: Log;
  /** Tracks the pending steps. */
  readonly steps: StopSteps;
}

/**
 * Stops accepting connections, answers the requests of accepted ones, cancels those in flight after the grace period, then
 * closes the service.
 */
export async function shutdown({
  service,
  http,
  connections,
  metrics,
  grpc,
  graceMs,
  log,
  steps,
}: ShutdownOptions): Promise<void> {
  service.drain();
  const grace = AbortSignal.timeout(graceMs);
  const fronts = Promise.all([
    steps.run('HTTP', closeHttp({ http, connections }, graceMs, grace)),
    steps.run('metrics', metrics ? closeHttp(metrics, graceMs, grace) : Promise.resolve()),
    steps.run('gRPC', grpc?.shutdown({ signal: grace }) ?? Promise.resolve()),
  ]);
  grace.addEventListener('abort', () => {
    service.stop();
    const late = steps.pending().filter((name) => name !== STORE_STEP);
    if (late.length > 0)
      log.warn(`Requests still in flight after the grace period are cancelled: ${late.join(', ')}.`, { graceMs });
  });
  await fronts;
  await steps.run(STORE_STEP, service.close());
}

/** How long a connection without a request stays open at a stop: longer than a request takes to arrive. */
const IDLE_MS = 300;

/** Closes the listener, then each connection once it has no request. */
async function closeHttp({ http, connections }: HttpServer, graceMs: number, grace: AbortSignal): Promise<void> {
  if (!http.listening) return;
  connections.drain();
  await untilQueueIsEmpty(http, connections, graceMs / 2);
  await new Promise<void>((resolve) => {
    // Node calls it when the server closes.
    const idleMs = Math.min(IDLE_MS, graceMs / 2);
    http.closeIdleConnections = () => connections.endIdle(idleMs);
    const sweep = setInterval(() => connections.endIdle(idleMs), 20);
    const cut = (): void => http.closeAllConnections();
    if (grace.aborted) cut();
    else grace.addEventListener('abort', cut);
    http.close(() => {
      clearInterval(sweep);
      resolve();
    });
  });
}

/**
 * Resolves when no connection is waiting to be accepted, or the time is over. When a listener closes, the system resets
 * the connections in its queue, and Node accepts only one in a turn of the event loop. Clients without a pause would
 * fill the queue again, so its length becomes 0 first: it keeps its clients, and their successors are refused after the
 * close. With the usual length, 50 busy clients keep the queue full, and 35 of them are reset.
 */
async function untilQueueIsEmpty(http: Server, connections: Connections, limitMs: number): Promise<void> {
  const endMs = performance.now() + limitMs;
  shrinkQueue(http);
  let isEmpty = false;
  for (let now = performance.now(); !isEmpty && now < endMs;) {
    const [before, startMs] = [connections.accepted(), now];
    await nextTurn();
    now = performance.now();
    isEmpty = connections.accepted() === before && now - startMs < SHORT_TURN_MS;
  }
}

/** In a longer turn of the event loop, another connection may have come after the system was asked for one. */
const SHORT_TURN_MS = 1;

/** Node has no function for this. A second `listen` sets the length of the system's queue. */
function shrinkQueue(http: Server & { readonly _handle?: { listen(backlog: number): number } }): void {
  http._handle?.listen(0);
}

/** The steps of a shutdown, with names for the log of a late one. */
export interface StopSteps {
  /** Tracks some work under a name until it is done. */
  run<T>(name: string, work: Promise<T>): Promise<T>;
  /** Returns the names of the pending work. */
  pending(): readonly string[];
  /** The work of this name succeeded. */
  isDone(name: string): boolean;
}

/** After this step no data can be lost. */
export const STORE_STEP = 'the store';

/** Creates an empty set of steps. */
export function createStopSteps(): StopSteps {
  const pending = new Set<string>();
  const done = new Set<string>();
  return {
    async run(name, work) {
      pending.add(name);
      try {
        const result = await work;
        done.add(name);
        return result;
      } finally {
        pending.delete(name);
      }
    },
    pending: () => [...pending],
    isDone: (name) => done.has(name),
  };
}

/** Options of the shutdown deadline. */
export interface StopDeadlineOptions {
  readonly steps: StopSteps;
  /** The grace period of requests in flight. */
  readonly graceMs: number;
  readonly log: Log;
  readonly exit: (code: number) => void;
}

/**
 * Exits the process two seconds after the grace period, even if work is pending. Call it when the signal arrives. The
 * timer does not keep the process alive.
 */
export function startStopDeadline({ steps, graceMs, log, exit }: StopDeadlineOptions): void {
  const deadlineMs = graceMs + AFTER_GRACE_MS;
  setTimeout(
    () => {
      const pending = steps.pending();
      const left = pending.length > 0 ? pending : [...new Set(process.getActiveResourcesInfo())];
      log.error(`Shutdown is late: exiting without waiting for ${left.join(', ')}.`, { deadlineMs });
      exit(steps.isDone(STORE_STEP) ? 0 : 1);
    },
    Math.min(deadlineMs, MAX_TIMER_MS),
  ).unref();
}

const AFTER_GRACE_MS = 1900;
/** Node treats a longer delay as none. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** The terminal sends Ctrl-C to the server, and npm passes it on, too: both are one signal. */
const SAME_SIGNAL_MS = 500;

/** Resolves with the first SIGTERM or SIGINT; a second one, a little later, exits at once. */
export function waitForSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstMs: number | undefined;
    for (const name of SIGNALS) {
      process.on(name, () => {
        firstMs ??= performance.now();
        if (performance.now() - firstMs >= SAME_SIGNAL_MS) process.exit(128 + constants.signals[name]);
        resolve(name);
      });
    }
  });
}
