import type { Authenticator } from '@svc/auth';
import { type Config, formatAddress } from '@svc/config';
import { type ChildLink, DirectoryFormatError, DirectoryInUseError } from '@svc/duckdb';
import { openPort } from '@svc/grpc/internal';
import type { Observer } from '@svc/service';
import { untilAnswered } from './http/until-answered.ts';
import { ListenError, listenError, listenHttp } from './listen-http.ts';
import { createMetrics, type Metrics } from './metrics/metrics.ts';
import { createAccessLog } from './observers/access-log.ts';
import { createLogObserver } from './observers/log-observer.ts';
import type { Log } from './observers/log.ts';
import { sampleRefusals } from './observers/sample-refusals.ts';
import { createSlowQueryLog } from './observers/slow-query-log.ts';
import { openStore, StorageError } from './parts/open-store.ts';
import type { ListenerTls } from './parts/open-tls.ts';
import { shutdown } from './shutdown.ts';
import type { StopSteps } from './stop-steps.ts';
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
 * child starts, and those of gRPC after HTTP is up and has answered the clients that waited for it. The port of gRPC is
 * bound before HTTP answers: its clients wait for the modules.
 */
export async function startServer(config: Config, log: Log, options: StartOptions): Promise<RunningServer> {
  const { version, authenticator, tls, audit, traces, child, steps } = options;
  const descriptors = watchDescriptors(log);
  const metrics = createMetrics(config.metrics, { version, hasCallers: authenticator !== undefined, descriptors });
  const refusals = sampleRefusals(createObserver(config, log, { traces, audit, metrics }));
  const { observe } = refusals;
  const [opened, scheduler, { createConfiguredService }, { createHttpServers }] = await Promise.all([
    openStore(config, { log, observe, child }),
    config.scheduler.url === undefined ? undefined : import('./parts/open-scheduler.ts'),
    import('./parts/create-configured-service.ts'),
    import('./http/create-http-servers.ts'),
  ]);
  const openScheduler = scheduler?.openScheduler;
  const store = descriptors.addFault(opened.store);
  const parts = { ...opened, store, openScheduler, authenticator, observe, traces, tls: tls?.health };
  const { service, tsdbConnections } = createConfiguredService(config, parts, version);
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
  const { createConfiguredGrpc } = await import('./parts/create-configured-grpc.ts');
  const grpc = createConfiguredGrpc(config, service, { tls, httpPort });
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

/** Creates the observer of all events. */
function createObserver(
  { logging }: Config,
  log: Log,
  { traces, audit, metrics }: Pick<StartOptions, 'audit' | 'traces'> & { readonly metrics: Metrics | undefined },
): Observer {
  return combineObservers([
    // First: the time of a span is that of its event.
    traces?.observe,
    createLogObserver(log),
    createSlowQueryLog(log, logging.slow_query_ms),
    audit,
    metrics?.observe,
    createAccessLog(log, logging),
  ]);
}

/** Whether an error keeps the server from starting and its operator can fix it. */
export function isForOperator(error: unknown): error is Error {
  return [ListenError, DirectoryFormatError, DirectoryInUseError, StorageError].some((kind) => error instanceof kind);
}

/** Returns an observer that passes every event to several, in order. */
function combineObservers(observers: readonly (Observer | undefined)[]): Observer {
  const all = observers.filter((observer) => observer !== undefined);
  return (event) => {
    for (const observe of all) observe(event);
  };
}
