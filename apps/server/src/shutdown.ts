import type { Server } from 'node:http';
import type { GrpcServer } from '@svc/grpc';
import type { Service } from '@svc/service';
import type { Connections } from './http/connections.ts';
import type { HttpServer } from './http/create-http-server.ts';
import type { Log } from './observers/log.ts';
import { STORE_STEP, type StopSteps } from './stop-steps.ts';

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

/** Stops accepting requests, waits for those in flight, cancels them after the grace period, then closes the service. */
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
  service.stop();
  connections.drain();
  const grace = AbortSignal.timeout(graceMs);
  const fronts = Promise.all([
    steps.run('HTTP', closeHttp(http, connections, grace)),
    steps.run('metrics', metrics ? closeHttp(metrics.http, metrics.connections, grace) : Promise.resolve()),
    steps.run('gRPC', grpc?.shutdown({ signal: grace }) ?? Promise.resolve()),
  ]);
  grace.addEventListener('abort', () => {
    const late = steps.pending().filter((name) => name !== STORE_STEP);
    if (late.length > 0)
      log.warn(`Requests still in flight after the grace period are cancelled: ${late.join(', ')}.`, { graceMs });
  });
  await fronts;
  await steps.run(STORE_STEP, service.close());
}

function closeHttp(server: Server, connections: Connections, grace: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) return resolve();
    // Closes connections as soon as their response ends, so that they do not wait for another request.
    const sweep = setInterval(() => {
      server.closeIdleConnections();
      connections.endUnused();
    }, 20);
    grace.addEventListener('abort', () => server.closeAllConnections());
    server.close(() => {
      clearInterval(sweep);
      resolve();
    });
    return undefined;
  });
}
