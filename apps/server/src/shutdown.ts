import type { Server } from 'node:http';
import type { GrpcServer } from '@svc/grpc';
import type { Service } from '@svc/service';
import type { Connections } from './connections.ts';
import type { Log } from './log.ts';

/** What is to be stopped, and how long it may take. */
export interface ShutdownOptions {
  readonly service: Service;
  readonly http: Server;
  readonly connections: Connections;
  /** Left out where it was not started yet. */
  readonly grpc?: GrpcServer;
  readonly graceMs: number;
  readonly log: Log;
}

/** Takes no more requests, lets running ones finish within the grace, cancels what is left, then closes the service. */
export async function shutdown({ service, http, connections, grpc, graceMs, log }: ShutdownOptions): Promise<void> {
  service.stop();
  const grace = AbortSignal.timeout(graceMs);
  const late = new Set(['HTTP', 'gRPC']);
  grace.addEventListener('abort', () => {
    if (late.size > 0)
      log.warn(`Answers still running after the grace are cancelled: ${[...late].join(', ')}.`, { graceMs });
  });
  await Promise.all([
    closeHttp(http, connections, grace).finally(() => late.delete('HTTP')),
    (grpc?.shutdown({ signal: grace }) ?? Promise.resolve()).finally(() => late.delete('gRPC')),
  ]);
  await service.close();
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
