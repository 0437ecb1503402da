import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { type Config, formatAddress } from '@svc/config';
import { createGrpcServer } from '@svc/grpc';
import { createService, type Service } from '@svc/service';
import { createTsdbProxy } from '@svc/tsdb-proxy';
import { answerClientErrors, malformedRequest } from './client-errors.ts';
import { type Connections, trackConnections } from './connections.ts';
import { createApp } from './create-app.ts';
import { endIdleSockets } from './idle-sockets.ts';
import { createLogObserver } from './log-observer.ts';
import type { Log } from './log.ts';
import { type OpenedStore, openStore } from './open-store.ts';
import { shutdown } from './shutdown.ts';

/** A server whose listeners are both up. */
export interface RunningServer {
  readonly httpUrl: string;
  readonly grpcAddress: string;
  /** Finishes what is running, as long as the configured grace lasts, and closes everything. */
  stop(): Promise<void>;
}

/** A listener could not bind; the message names the address and the setting. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** The longest request line and headers together. */
const MAX_HEAD_BYTES = 64 * 1024;
/** How long a client may take to send its head. */
const HEAD_TIMEOUT_MS = 60_000;

/** Makes the parts of the server from its configuration and starts both listeners. */
export async function startServer(config: Config, log: Log, version: string): Promise<RunningServer> {
  const service = createConfiguredService(config, await openStore(config, log), log, version);
  const { http, connections } = createHttpServer(config, service);
  const grpc = createGrpcServer({
    service,
    maxConnections: config.server.max_connections,
    maxMessageBytes: config.grpc.max_message_bytes,
  });
  const graceMs = config.server.shutdown_grace_ms;
  const stop = (): Promise<void> => shutdown({ service, http, connections, grpc, graceMs, log });
  const { http_bind_address: address, grpc_host: grpcHost, grpc_port: grpcPort } = config.server;
  try {
    const httpPort = await listenHttp(http, address.host, address.port).catch(
      listenError(address.host, address.port, 'server.http_bind_address'),
    );
    const boundGrpcPort = await grpc
      .listen(grpcHost, grpcPort)
      .catch(listenError(grpcHost, grpcPort, 'server.grpc_host and server.grpc_port'));
    return {
      httpUrl: `http://${formatAddress({ host: address.host, port: httpPort })}`,
      grpcAddress: formatAddress({ host: grpcHost, port: boundGrpcPort }),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function createConfiguredService(config: Config, opened: OpenedStore, log: Log, version: string): Service {
  const { tsdb, http } = config;
  const { http_url: url, user, password, token, ca_file: caFile } = tsdb;
  const proxy =
    url &&
    createTsdbProxy({
      url,
      user,
      password,
      token,
      ...(caFile !== undefined && { ca: readFileSync(caFile, 'utf8') }),
      connectTimeoutMs: tsdb.connect_timeout_ms,
      timeoutMs: tsdb.timeout_ms,
      idleTimeoutMs: tsdb.idle_timeout_ms,
    });
  return createService({
    ...opened,
    ...(proxy && { tsdb: proxy }),
    maxUploadBytes: http.max_upload_bytes,
    idleTimeoutMs: http.idle_timeout_ms,
    observe: createLogObserver(log),
    version,
  });
}

function createHttpServer(config: Config, service: Service): { http: Server; connections: Connections } {
  const app = createApp(config, service);
  const listener = getRequestListener(app.fetch, {
    hostname: 'localhost',
    // The app answers every failure itself: what comes here could not be made a request at all.
    errorHandler: () => malformedRequest(),
  });
  const options = {
    maxHeaderSize: MAX_HEAD_BYTES,
    // A missing Host is answered in JSON by the app, and an upload may take longer than any fixed time.
    requireHostHeader: false,
    requestTimeout: 0,
    headersTimeout: HEAD_TIMEOUT_MS,
  };
  const http = createServer(options);
  const connections = trackConnections(http);
  http.on('request', (request, response) => void listener(request, response));
  answerClientErrors(http, connections);
  endIdleSockets(http, connections, config.http.idle_timeout_ms);
  return { http, connections };
}

function listenHttp(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
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

function listenError(host: string, port: number, setting: string): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    const reason = REASONS[error.code ?? ''] ?? error.message;
    throw new ListenError(`Cannot listen on ${formatAddress({ host, port })}, which ${setting} names: ${reason}.`, {
      cause: error,
    });
  };
}
