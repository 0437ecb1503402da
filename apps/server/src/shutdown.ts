import type { Server } from 'node:http';
import type { GrpcServer } from '@svc/grpc';
import type { Service } from '@svc/service';
import type { Connections } from './connections.ts';
import type { Log } from './log.ts';
import { STORE_STEP, type StopSteps } from './stop-steps.ts';

/** What is to be stopped, and how long it may take. */
export interface ShutdownOptions {
  readonly service: Service;
  readonly http: Server;
  readonly connections: Connections;
  /** Left out where it was not started yet. */
  readonly grpc?: GrpcServer;
  readonly graceMs: number;
  readonly log: Log;
  /** Follows what is done and what is not. */
  readonly steps: StopSteps;
}

/** Takes no more requests, lets running ones finish within the grace, cancels what is left, then closes the service. */
export async function shutdown({
  service,
  http,
  connections,
  grpc,
  graceMs,
  log,
  steps,
}: ShutdownOptions): Promise<void> {
  service.stop();
  const grace = AbortSignal.timeout(graceMs);
  const fronts = Promise.all([
    steps.run('HTTP', closeHttp(http, connections, grace)),
    steps.run('gRPC', grpc?.shutdown({ signal: grace }) ?? Promise.resolve()),
  ]);
  grace.addEventListener('abort', () => {
    const late = steps.pending().filter((name) => name !== STORE_STEP);
    if (late.length > 0)
      log.warn(`Answers still running after the grace are cancelled: ${late.join(', ')}.`, { graceMs });
  });
  await fronts;
  await steps.run(STORE_STEP, service.close());
}

function closeHttp(server: Server, connections: Connections, grace: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) return resolve();
    // A connection becomes idle when its answer ends, and is then to close and not to wait for another request.
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
