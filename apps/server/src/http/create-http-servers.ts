import { type Config, formatAddress } from '@svc/config';
import { createResponseCache, type ResponseCache } from '@svc/exec-http';
import type { Service } from '@svc/service';
import { listenError, listenHttp } from '../listen-http.ts';
import { metricsHandler } from '../metrics/metrics-endpoint.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { ListenerTls } from '../parts/open-tls.ts';
import { createApp, createMetricsApp } from './create-app.ts';
import { createHttpServer, type HttpServer } from './create-http-server.ts';

/** Options of `createHttpServers`, besides the configuration. */
export interface HttpServersOptions {
  /** Whether other parts are still starting. */
  readonly isStarting: () => boolean;
  /** Undefined: plain HTTP. */
  readonly tls: ListenerTls | undefined;
  /** Undefined if metrics are off. */
  readonly metrics: Metrics | undefined;
}

/** The server of the API, and that of the metrics if it has an address of its own. */
export interface HttpServers {
  readonly main: HttpServer & { readonly answerCache: ResponseCache };
  readonly metrics: MetricsServer | undefined;
}

/** A server with `/metrics` alone. */
export interface MetricsServer extends HttpServer {
  /** Listens, and resolves to the URL. Fails with a `ListenError`. */
  listen(): Promise<string>;
}

/** Creates the HTTP servers; they do not listen yet. */
export function createHttpServers(config: Config, service: Service, options: HttpServersOptions): HttpServers {
  const { isStarting, tls, metrics } = options;
  const { bind_address: address } = config.metrics;
  const answerCache = createResponseCache(config.http.answer_cache_bytes);
  const handler = metrics && metricsHandler(service, metrics);
  const state = { isStarting, answerCache, metrics: address === undefined ? handler : undefined };
  const main = createHttpServer(config, service, {
    tls,
    createApp: (inFlight) => createApp(config, service, { ...state, inFlight }),
  });
  const own = address !== undefined && handler !== undefined;
  return {
    main: { ...main, answerCache },
    metrics: own ? createMetricsServer(config, service, { handler, address, tls }) : undefined,
  };
}

function createMetricsServer(
  config: Config,
  service: Service,
  parts: {
    readonly handler: ReturnType<typeof metricsHandler>;
    readonly address: NonNullable<Config['metrics']['bind_address']>;
    readonly tls: ListenerTls | undefined;
  },
): MetricsServer {
  const { handler, address, tls } = parts;
  const server = createHttpServer(config, service, {
    tls,
    createApp: (inFlight) => createMetricsApp(config, service, { inFlight, metrics: handler }),
  });
  return {
    ...server,
    async listen() {
      const { host, port } = address;
      const bound = await listenHttp(server.http, host, port).catch((error: unknown) => {
        throw listenError(error, host, port, 'metrics.bind_address');
      });
      return `${tls === undefined ? 'http' : 'https'}://${formatAddress({ host, port: bound })}`;
    },
  };
}
