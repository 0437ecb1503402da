import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { SecureContextOptions, TlsOptions } from 'node:tls';
import { logVerbosity, type Metadata, ServerCredentials, type ServerInterceptor, setLogVerbosity } from '@grpc/grpc-js';
import type { HandshakeFailure } from '@svc/auth';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { createDecoders } from '@svc/frames';
import { HealthDefinition, reflectionV1, reflectionV1alpha } from '@svc/proto';
import type { EngineName, Service } from '@svc/service';
import { defaultOf } from '@svc/service/internal';
import { createServer, type Server as NiceServer } from 'nice-grpc';
import { beginCalls } from './begin-calls.ts';
import { AUTHORIZATION_KEY } from './call-credentials.ts';
import { createCalls } from './calls.ts';
import { REQUEST_ID_KEY } from './error-status.ts';
import { createFlightService, FlightDefinition } from './flight/flight-service.ts';
import { sendUncopied } from './flight/send-uncopied.ts';
import { createFrameService, FrameDefinition } from './frame-service.ts';
import { type GrpcConnection, type GrpcConnections, trackConnections } from './grpc-connections.ts';
import { createHealthService } from './health-service.ts';
import { boundedService } from './message-limits.ts';
import { type OpenPort, openPort } from './open-port.ts';
import { createReflectionService } from './reflection-service.ts';

/** Options of `createGrpcServer`. */
export interface GrpcServerOptions {
  /** The service behind the calls. */
  readonly service: Service;
  /**
   * The most open connections of one address; all together may have a tenth more. A further one takes the place of one that
   * has not made a call yet, or is refused. Default 100.
   */
  readonly maxConnections?: number;
  /**
   * How long a client may take until its first accepted call: one with valid credentials, or any call if authentication is
   * off. Default 10 000.
   */
  readonly firstCallMs?: number;
  /** The most bytes of one message from a client. Default 64 MiB. */
  readonly maxMessageBytes?: number;
  /** The longest pause of a client during an upload before the call is DEADLINE_EXCEEDED. Default 60 000. */
  readonly idleTimeoutMs?: number;
  /** The least rate of an upload, over `idleTimeoutMs`, before the call is DEADLINE_EXCEEDED; 0: any. Default 100. */
  readonly minUploadBytesPerSecond?: number;
  /** Certificate, key, and whether clients need a certificate, as a TLS server of Node takes them. Default: no TLS. */
  readonly tls?: TlsOptions;
  /** Called when the TLS handshake of a connection fails. Default: none. */
  readonly onHandshakeFailure?: ((failure: HandshakeFailure) => void) | undefined;
  /** How long a connection may stay open without a call. Default 600 000. */
  readonly connectionIdleMs?: number;
  /** The engine of Flight SQL statements that name none. Default: the only one of the service, else `local`. */
  readonly defaultEngine?: EngineName;
  /** The port of the HTTP API, for the response to HTTP/1.1 clients. Default: it names none. */
  readonly httpPort?: number;
}

/** Options of `shutdown`. */
export interface ShutdownOptions {
  /** Cancels the running calls when it aborts. Default: wait for them, however long they take. */
  readonly signal?: AbortSignal;
}

/** A gRPC server for a service. */
export interface GrpcServer {
  /**
   * Listens on an address; port 0 picks a free port. Resolves to the port. May be called once. If listening fails, the
   * error is the system's, with its `code`, such as `EADDRINUSE`.
   */
  listen(host: string, port: number): Promise<number>;
  /** Like `listen`, on a port that is bound already. Clients that have connected to it are answered from now on. */
  listenOn(port: OpenPort): Promise<void>;
  /** The number of open connections. */
  connectionCount(): number;
  /** Uses another certificate and key for new connections; open ones stay. Only for a server with TLS. */
  setSecureContext(context: SecureContextOptions): void;
  /**
   * Accepts no more connections and calls, and resolves when the last running call has ended. Health watches end at once;
   * other calls may finish, or end with UNAVAILABLE when the signal aborts. A call that does not end then is abandoned
   * within one second. Connections without a call are closed at once.
   */
  shutdown(options?: ShutdownOptions): Promise<void>;
}

/**
 * Creates a gRPC server with frames, Arrow Flight, Flight SQL, health and reflection. Switches off what grpc-js itself prints
 * in this process.
 */
export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  // It prints the values of metadata that it cannot accept to stderr, such as a token with a character too many.
  setLogVerbosity(logVerbosity.NONE);
  const { service, maxConnections = 100, maxMessageBytes = 64 * 1024 * 1024 } = options;
  const { idleTimeoutMs = 60_000, minUploadBytesPerSecond: minBytesPerSecond = 100 } = options;
  const { defaultEngine = defaultOf(service.engines) } = options;
  const pace = { idleTimeoutMs, minBytesPerSecond };
  const calls = createCalls({
    ...service,
    isOpen,
    maxMessageBytes,
    onAccepted: (session) => connections?.onAccepted(session),
    onRefused: (session) => connections?.onRefused(session),
  });
  const decoders = createDecoders({ maxBytes: MAX_DECODED_PARAMS_BYTES });
  const interceptor: ServerInterceptor = (method, call) => {
    sendUncopied(call);
    return calls.interceptor(method, call);
  };
  const server = createServer({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_concurrent_streams': MAX_CALLS_OF_A_CONNECTION,
    'grpc.keepalive_time_ms': KEEPALIVE_MS,
    'grpc.max_connection_idle_ms': options.connectionIdleMs ?? CONNECTION_IDLE_MS,
    interceptors: [interceptor],
  }).use(calls.middleware);

  addServices(server, { service, current: calls.current, pace, decoders, defaultEngine });
  const credentials = createServerCredentials(options.tls);
  let connections: GrpcConnections | undefined;

  function onListener(listener: Server): void {
    const onRefused = freeDeadConnections(() => connections ?? []);
    const limit = { max: maxConnections, firstRequestMs: options.firstCallMs ?? FIRST_CALL_MS, onRefused };
    connections = trackConnections(listener, { ...options, limit, http1Text: http1Text(options) });
    listener.on('stream', ({ session }: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      const error = rejectionOf(headers);
      if (error === undefined) return;
      calls.reportRejected(error, headers[':path'] ?? '', headers[REQUEST_ID_KEY]?.toString());
      connections?.onRefused(session);
    });
    beginCalls(listener, {
      onFlood: (session) => connections?.cutOff(session),
      onDropped: (session, count) => connections?.onDropped(session, count),
    });
  }

  let stopped: Promise<void> | undefined;

  async function stop(): Promise<void> {
    const closed = connections?.closed();
    // Not awaited: its promise does not resolve if a session has failed. The listener reports when it is closed.
    void server.shutdown();
    connections?.closeIdle();
    calls.cancel(STOPPING, (operation) => operation.startsWith('grpc.'));
    await closed;
    await calls.settled();
    await decoders.close();
  }

  /** Cancels the running calls when the signal aborts; `isOver` aborts when all calls have ended. */
  async function cancelWith(signal: AbortSignal, isOver: AbortSignal): Promise<void> {
    if (!signal.aborted) await once(signal, 'abort', { signal: isOver });
    calls.cancel(STOPPING);
    await delay(CANCEL_MS, undefined, { signal: isOver });
    connections?.destroy();
    await delay(CANCEL_MS, undefined, { signal: isOver });
  }

  function listenOn(opened: OpenPort): Promise<void> {
    const { host, port } = opened;
    const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    return opened.takeOver(() => server.listen(address, credentials), onListener);
  }

  return {
    async listen(host, port) {
      const opened = await openPort(host, port);
      await listenOn(opened);
      return opened.port;
    },

    listenOn,

    connectionCount: () => connections?.size ?? 0,

    setSecureContext: (context) => credentials.update(context),

    async shutdown({ signal } = {}) {
      stopped ??= stop();
      if (signal === undefined) return stopped;
      const over = new AbortController();
      try {
        await Promise.race([stopped, cancelWith(signal, over.signal)]);
      } finally {
        over.abort();
      }
    },
  };
}

function addServices(server: NiceServer, parts: Parameters<typeof createFlightService>[0]): void {
  const { service, current, pace } = parts;
  server.add(boundedService(FrameDefinition), createFrameService({ service, current, pace }));
  server.add(boundedService(FlightDefinition), createFlightService(parts));
  server.add(boundedService(HealthDefinition), createHealthService({ service, names: SERVICE_NAMES, current }));
  server.add(boundedService(reflectionV1.ServerReflectionDefinition), createReflectionService(SERVICE_NAMES));
  server.add<typeof reflectionV1alpha.ServerReflectionDefinition>(
    boundedService(reflectionV1alpha.ServerReflectionDefinition),
    createReflectionService(SERVICE_NAMES),
  );
}

const SERVICES = [
  FrameDefinition,
  FlightDefinition,
  HealthDefinition,
  reflectionV1.ServerReflectionDefinition,
  reflectionV1alpha.ServerReflectionDefinition,
];
const SERVICE_NAMES = SERVICES.map((definition) => definition.fullName).toSorted();
/** The paths of all methods. */
export const GRPC_PATHS: ReadonlySet<string> = new Set(
  SERVICES.flatMap(({ fullName, methods }) => Object.values(methods).map(({ name }) => `/${fullName}/${name}`)),
);

/** Returns the error of a call that grpc-js rejects by its headers. */
function rejectionOf({ ':path': path = '', 'content-type': type }: IncomingHttpHeaders): ServiceError | undefined {
  if (type?.startsWith('application/grpc') !== true) {
    return new ServiceError('unsupported_media_type', `The content type ${quoted(type ?? '')} is not that of gRPC.`);
  }
  if (GRPC_PATHS.has(path)) return undefined;
  return new ServiceError('route_not_found', `This server has no method ${quoted(path)}.`);
}

function http1Text({ httpPort, tls }: GrpcServerOptions): string {
  const place = `${httpPort}${tls === undefined ? '' : ', with https'}`;
  const hint = httpPort === undefined ? 'Use a gRPC client.' : `Send HTTP requests to port ${place}.`;
  return `This port speaks gRPC, over HTTP/2. ${hint}\n`;
}

const HEALTH_PREFIX = `${HealthDefinition.fullName}/`;
const { fullName: FLIGHT, methods: FLIGHT_METHODS } = FlightDefinition;
const HANDSHAKE = `${FLIGHT}/${FLIGHT_METHODS.handshake.name}`;

/** Whether a call needs no credentials in its metadata: a health check, or a handshake that has them in its message. */
function isOpen(operation: string, metadata: Metadata): boolean {
  if (operation === HANDSHAKE) return metadata.get(AUTHORIZATION_KEY).length === 0;
  return operation.startsWith(HEALTH_PREFIX);
}

/** Memory for decoding the parameters of statements, for all clients together. */
const MAX_DECODED_PARAMS_BYTES = 256 * 1024 * 1024;
/** The minimum that HTTP/2 recommends; the client queues further calls of a connection. */
const MAX_CALLS_OF_A_CONNECTION = 100;
/** The default of how long a client may take until its first accepted call. */
const FIRST_CALL_MS = 10_000;
/** The default of how long a connection may stay open without a call. */
const CONNECTION_IDLE_MS = 600_000;
/** Without keepalive, a peer that vanishes would hold its connection forever. */
const KEEPALIVE_MS = 60_000;
/**
 * How long a cancelled call may take to end before its connection is destroyed, and again until its handler is
 * abandoned.
 */
const CANCEL_MS = 400;
const STOPPING = new ServiceError('unavailable', 'The server is stopping.');

/**
 * Returns a function that closes dead connections. Call it whenever a client is refused because all slots are taken. After a
 * protocol error, a session silently stops reading: it does not notice that the client disconnects, and would stay until
 * the keepalive timeout. But it also stops sending, so a ping stays in its queue.
 */
function freeDeadConnections(connections: () => Iterable<GrpcConnection>): () => void {
  /** Since when the queue of a session has not been empty, in milliseconds. */
  const stuckSince = new WeakMap<GrpcConnection, number>();
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    const now = performance.now();
    timer = undefined;
    for (const connection of connections()) {
      const { session, openCalls } = connection;
      if (session.destroyed || session.state.outboundQueueSize === 0) stuckSince.delete(connection);
      else {
        const since = stuckSince.get(connection) ?? now;
        stuckSince.set(connection, since);
        // A slow reader has a queue too, but only during a call.
        if (openCalls === 0 || now - since >= SLOW_MS) session.destroy();
        else lookAgain();
      }
    }
  }
  function lookAgain(): void {
    timer ??= setTimeout(look, LOOK_MS).unref();
  }

  return () => {
    if (timer !== undefined) return;
    for (const { session } of connections()) if (!session.destroyed) session.ping(() => undefined);
    lookAgain();
  };
}

/** How long a ping may stay in the queue; this does not depend on the network. */
const LOOK_MS = 100;
/** How long a client with a call may stop reading while others are refused. */
const SLOW_MS = 5000;

/** The credentials of a listener: plain, or with a certificate that can be replaced while the server runs. */
interface ReplaceableCredentials extends ServerCredentials {
  /** Replaces certificate and key for new connections. */
  update(context: SecureContextOptions): void;
}

/** Creates the credentials of a listener. Undefined: no TLS. */
function createServerCredentials(tls: TlsOptions | undefined): ReplaceableCredentials {
  return new Credentials(tls);
}

/** grpc-js compares credentials by class, and its own cannot be replaced, or ask for a certificate without requiring it. */
class Credentials extends ServerCredentials implements ReplaceableCredentials {
  constructor(tls: TlsOptions | undefined) {
    super(tls ?? null, tls);
  }

  update(context: SecureContextOptions): void {
    this.updateSecureContextOptions(context);
  }

  _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
