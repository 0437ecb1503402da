import type { Authenticator } from '@svc/auth';
import { type Config, formatAddress } from '@svc/config';
import { type ChildLink, DirectoryFormatError, DirectoryInUseError } from '@svc/duckdb';
import type { GrpcServer } from '@svc/grpc';
import { openPort } from '@svc/grpc/internal';
import type { Observer, Service } from '@svc/service';
import { ListenError, listenError, listenHttp, untilAnswered } from './http/listen.ts';
import { createMetrics, type Metrics } from './metrics/metrics.ts';
import { createAccessLog, createLogObserver, createSlowQueryLog } from './observers/log-observer.ts';
import type { Log } from './observers/log.ts';
import { sampleRefusals } from './observers/sample-refusals.ts';
import type { ListenerTls } from './parts/open-credentials.ts';
import { openStore, StorageError } from './parts/open-store.ts';
import { shutdown, type StopSteps } from './shutdown.ts';
import type { Traces } from './traces/open-traces.ts';
import { watchDescriptors } from './watch-descriptors.ts';

/** A server with both listeners up. */
export interface RunningServer {
  readonly httpUrl: string;
  readonly grpcAddress: string;
  /** The listener for metrics alone; undefined if there is none. */
  readonly metricsUrl: string | undefined;
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

/**
 * Creates the parts of the server from its configuration and starts both listeners. Modules are loaded while the engine
 * child starts, and those of gRPC after HTTP is up and has answered the clients in its queue. The port of gRPC is bound
 * before HTTP answers: its clients wait for the modules.
 */
export async function startServer(config: Config, log: Log, options: StartOptions): Promise<RunningServer> {
  const { version, authenticator, tls, audit, traces, child, steps } = options;
  const descriptors = watchDescriptors(log);
  const metrics = createMetrics(config.metrics, { version, hasCallers: authenticator !== undefined, descriptors });
  const refusals = sampleRefusals(createObserver(config, log, { traces, audit, metrics }));
  const { observe } = refusals;
  const [opened, { createConfiguredService }, { createHttpServers }] = await Promise.all([
    openStore(config, log, observe, child),
    import('./parts/create-configured-service.ts'),
    import('./http/create-http-server.ts'),
  ]);
  const store = descriptors.addFault(opened.store);
  const parts = { ...opened, store, authenticator, observe, traces, tls: tls?.health };
  const { service, tsdbConnections } = await createConfiguredService(config, parts, version);
  let isStarting = true;
  const servers = createHttpServers(config, service, { isStarting: () => isStarting, tls, metrics });
  const { http, connections, answerCache } = servers.main;
  const graceMs = config.server.shutdown_grace_ms;
  const running = { service, http, connections, metrics: servers.metrics, graceMs, log, steps };
  const { http_bind_address: address, grpc_host: grpcHost, grpc_port: grpcPort } = config.server;
  const grpcAddress = await openPort(grpcHost, grpcPort).catch(async (error: unknown) => {
    metrics?.close();
    await shutdown(running);
    throw listenError(error, grpcHost, grpcPort, 'server.grpc_host and server.grpc_port');
  });
  const stopHttp = async (): Promise<void> => {
    metrics?.close();
    await grpcAddress.close();
    await shutdown(running);
  };
  const httpPort = await listenHttp(http, address.host, address.port).catch(async (error: unknown) => {
    await stopHttp();
    throw listenError(error, address.host, address.port, 'server.http_bind_address');
  });
  const metricsUrl = await servers.metrics?.listen().catch(async (error: unknown) => {
    await stopHttp();
    throw error;
  });
  // Loading gRPC blocks the event loop for longer than a response takes.
  await untilAnswered(connections);
  const grpc = await createGrpc(config, service, tls, httpPort);
  tls?.files.onChange(({ context }) => grpc.setSecureContext(context));
  metrics?.connect({
    service,
    frameCache: opened.frameCache,
    answerCache,
    tsdbConnections,
    spans: traces?.counts,
    connections: () => ({ http: connections.count(), grpc: grpc.connectionCount() }),
    isStarting: () => isStarting,
  });
  const stop = async (): Promise<void> => {
    tls?.files.close();
    metrics?.close();
    await shutdown({ ...running, grpc });
    refusals.flush();
  };
  await grpc.listenOn(grpcAddress);
  isStarting = false;
  return {
    httpUrl: `${tls === undefined ? 'http' : 'https'}://${formatAddress({ host: address.host, port: httpPort })}`,
    grpcAddress: formatAddress({ host: grpcHost, port: grpcAddress.port }),
    metricsUrl,
    drain() {
      service.drain();
      connections.drain();
    },
    stop,
  };
}

/** Loads gRPC, and creates its server; it does not listen yet. */
async function createGrpc(
  config: Config,
  service: Service,
  tls: ListenerTls | undefined,
  httpPort: number,
): Promise<GrpcServer> {
  const { createGrpcServer } = await import('@svc/grpc');
  const { max_connections: maxConnections, first_request_timeout_ms: firstCallMs } = config.server;
  const { max_message_bytes: maxMessageBytes, idle_timeout_ms: connectionIdleMs } = config.grpc;
  const { idle_timeout_ms: idleTimeoutMs, min_body_bytes_per_second: minUploadBytesPerSecond } = config.http;
  return createGrpcServer({
    service,
    httpPort,
    idleTimeoutMs,
    minUploadBytesPerSecond,
    maxConnections,
    firstCallMs,
    maxMessageBytes,
    connectionIdleMs,
    // SQL for the database passes through HTTP only.
    defaultEngine: config.sql.default_engine === 'scheduler' ? 'scheduler' : 'local',
    ...(tls && { tls: { ...tls.options, ...tls.files.current.context }, onHandshakeFailure: tls.onFailure }),
  });
}

/** Creates the observer of all events. */
function createObserver(
  { logging }: Config,
  log: Log,
  { traces, audit, metrics }: Pick<StartOptions, 'audit' | 'traces'> & { readonly metrics: Metrics | undefined },
): Observer {
  return combineObservers([
    // First: a span ends at the time of its event.
    traces?.observe,
    createLogObserver(log),
    createSlowQueryLog(log, logging.slow_query_ms),
    audit,
    metrics?.observe,
    createAccessLog(log, logging),
  ]);
}

/** True if an error keeps the server from starting and its operator can fix it. */
export function isForOperator(error: unknown): error is Error {
  return [ListenError, DirectoryFormatError, DirectoryInUseError, StorageError].some((kind) => error instanceof kind);
}

/** Passes every event to several observers, in order. */
function combineObservers(observers: readonly (Observer | undefined)[]): Observer {
  const all = observers.filter((observer) => observer !== undefined);
  return (event) => {
    for (const observe of all) observe(event);
  };
}
