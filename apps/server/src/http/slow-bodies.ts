import type { IncomingMessage, Server } from 'node:http';
import { awaitsBody, type Connections, type RunningRequest } from './connections.ts';

/** Options of `endSlowBodies`. */
export interface SlowBodyOptions {
  /** The least rate of a body; 0: none. */
  readonly bytesPerSecond: number;
  /** The time over which the rate is measured. */
  readonly windowMs: number;
}

/** The state of a body that is arriving. */
interface Arrival {
  /** How long the server has waited for it. */
  waitedMs: number;
  /** What the connection had received when the window began. */
  fromBytes: number;
}

/** How often to look at the bodies that are arriving, at most. */
const MAX_SAMPLE_MS = 1000;

/**
 * Closes connections whose body arrives too slowly: a client that sends a byte now and then is never idle, but occupies a
 * connection and an upload. Only time in which the server waits for the client counts.
 */
export function endSlowBodies(server: Server, connections: Connections, options: SlowBodyOptions): void {
  const { bytesPerSecond, windowMs } = options;
  if (bytesPerSecond === 0) return;
  const arrivals = new WeakMap<IncomingMessage, Arrival>();
  let sampledAtMs = performance.now();

  function sample({ request }: RunningRequest, passedMs: number): void {
    const { bytesRead } = request.socket;
    const arrival = arrivals.get(request);
    if (arrival === undefined) {
      arrivals.set(request, { waitedMs: 0, fromBytes: bytesRead });
      return;
    }
    arrival.waitedMs += passedMs;
    if (arrival.waitedMs < windowMs) return;
    if (bytesRead - arrival.fromBytes < (bytesPerSecond * arrival.waitedMs) / 1000) request.socket.destroy();
    arrivals.set(request, { waitedMs: 0, fromBytes: bytesRead });
  }

  const timer = setInterval(
    () => {
      const nowMs = performance.now();
      for (const running of connections.allRunning()) if (awaitsBody(running)) sample(running, nowMs - sampledAtMs);
      sampledAtMs = nowMs;
    },
    Math.min(MAX_SAMPLE_MS, Math.ceil(windowMs / 4)),
  ).unref();
  server.once('close', () => clearInterval(timer));
}
