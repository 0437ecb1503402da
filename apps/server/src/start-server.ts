import type { Server } from 'node:http';
import type { Authenticator } from '@svc/auth';
import { type Config, formatAddress } from '@svc/config';
import { type ChildLink, DirectoryFormatError, DirectoryInUseError } from '@svc/duckdb';
import type { Observer } from '@svc/service';
import type { Log } from './observers/log.ts';
import type { ListenerTls } from './parts/open-tls.ts';
import { openStore, StorageError } from './parts/open-store.ts';
import { shutdown } from './shutdown.ts';
import type { StopSteps } from './stop-steps.ts';
import type { Traces } from './traces/open-traces.ts';

/** A server with both listeners up. */
export interface RunningServer {
  readonly httpUrl: string;
  readonly grpcAddress: string;
  /** Makes readiness probes fail, and asks clients to close their connections. All requests are still answered. */
  drain(): void;
  /** Waits for requests in flight, up to the configured grace period, and closes everything. */
  stop(): Promise<void>;
}

/** Options of a start, besides the configuration. */
export interface StartOptions {
  readonly version: string;
  /** Undefined if authentication is off. */
  readonly authenticator: Authenticator | undefined;
  /** Undefined: both listeners are plain. */
  readonly tls: ListenerTls | undefined;
  /** Observes the events of the audit. */
  readonly audit: Observer;
  /** Undefined: no spans. */
  readonly traces: Traces | undefined;
  /** The engine child, already started. */
  readonly child: ChildLink;
  /** Tracks the shutdown. */
  readonly steps: StopSteps;
}

/** A listener could not bind; the message names the address and the setting. */
class ListenError extends Error {
  override readonly name = 'ListenError';
}

/**
 * Creates the parts of the server from its configuration and starts both listeners. Modules are loaded while the engine
 * child starts, and those of gRPC after HTTP is up.
 */
export async function startServer(config: Config, log: Log, options: StartOptions): Promise<RunningServer> {
  const { version, authenticator, tls, audit, traces, child, steps } = options;
  const [opened, scheduler, { createConfiguredService }, { createHttpServer }] = await Promise.all([
    openStore(config, log, child),
    config.scheduler.url === undefined ? undefined : import('./parts/open-scheduler.ts'),
    import('./parts/create-configured-service.ts'),
    import('./http/create-http-server.ts'),
  ]);
  const parts = { ...opened, openScheduler: scheduler?.openScheduler, authenticator, audit, traces, tls: tls?.health };
  const service = createConfiguredService(config, parts, log, version);
  let isStarting = true;
  const { http, connections } = createHttpServer(config, service, { isStarting: () => isStarting, tls });
  const running = { service, http, connections, graceMs: config.server.shutdown_grace_ms, log, steps };
  const { http_bind_address: address, grpc_host: grpcHost, grpc_port: grpcPort } = config.server;
  const httpPort = await listenHttp(http, address.host, address.port).catch(async (error: unknown) => {
    await shutdown(running);
    throw listenError(error, address.host, address.port, 'server.http_bind_address');
  });
  const { createGrpcServer } = await import('@svc/grpc');
  const { max_connections: maxConnections } = config.server;
  const { max_message_bytes: maxMessageBytes, idle_timeout_ms: connectionIdleMs } = config.grpc;
  const { idle_timeout_ms: idleTimeoutMs, min_body_bytes_per_second: minUploadBytesPerSecond } = config.http;
  const grpc = createGrpcServer({
    service,
    idleTimeoutMs,
    minUploadBytesPerSecond,
    maxConnections,
    maxMessageBytes,
    connectionIdleMs,
    // SQL for the database passes through HTTP only.
    defaultEngine: config.sql.default_engine === 'scheduler' ? 'scheduler' : 'local',
    ...(tls && { tls: { ...tls.options, ...tls.files.current.context }, onHandshakeFailure: tls.onFailure }),
  });
  tls?.files.onChange(({ context }) => grpc.setSecureContext(context));
  const stop = async (): Promise<void> => {
    tls?.files.close();
    await shutdown({ ...running, grpc });
  };
  const boundGrpcPort = await grpc.listen(grpcHost, grpcPort).catch(async (error: unknown) => {
    await stop();
    throw listenError(error, grpcHost, grpcPort, 'server.grpc_host and server.grpc_port');
  });
  isStarting = false;
  return {
    httpUrl: `${tls === undefined ? 'http' : 'https'}://${formatAddress({ host: address.host, port: httpPort })}`,
    grpcAddress: formatAddress({ host: grpcHost, port: boundGrpcPort }),
    drain() {
      service.drain();
      connections.drain();
    },
    stop,
  };
}

/** Whether an error keeps the server from starting and its operator can fix it. */
export function isForOperator(error: unknown): error is Error {
  return [ListenError, DirectoryFormatError, DirectoryInUseError, StorageError].some((kind) => error instanceof kind);
}

/** The listen backlog. With Node's default of 511, further clients wait a second or more before they retry. */
const BACKLOG = 4096;

function listenHttp(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', reject);
      const bound = server.address();
      resolve(typeof bound === 'object' && bound !== null ? bound.port : port);
    });
  });
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there',
  EACCES: 'this user may not use the port',
  EADDRNOTAVAIL: 'this machine does not have the address',
  ENOTFOUND: 'the name is unknown',
};

function listenError(error: unknown, host: string, port: number, setting: string): ListenError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason = REASONS[code] ?? (error instanceof Error ? error.message : String(error));
  return new ListenError(`Cannot listen on ${formatAddress({ host, port })}, which ${setting} names: ${reason}.`, {
    cause: error,
  });
}
