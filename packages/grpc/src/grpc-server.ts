import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http2';
import type { Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { SecureContextOptions, TlsOptions } from 'node:tls';
import { logVerbosity, type Metadata, ServerCredentials, setLogVerbosity } from '@grpc/grpc-js';
import type { HandshakeFailure } from '@svc/auth';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { createDecoders } from '@svc/frames';
import { HealthDefinition, reflectionV1, reflectionV1alpha } from '@svc/proto';
import type { EngineName, Service } from '@svc/service';
import { defaultOf } from '@svc/service/internal';
import { createServer, type Server as NiceServer } from 'nice-grpc';
import { AUTHORIZATION_KEY, createCalls } from './call/calls.ts';
import { REQUEST_ID_KEY } from './call/error-status.ts';
import { boundedService } from './call/message-limits.ts';
import { type GrpcConnections, trackConnections } from './connections.ts';
import { createFlightService, FlightDefinition } from './flight/flight-service.ts';
import { createFrameService, FrameDefinition } from './frame-service.ts';
import { createHealthService } from './health-service.ts';
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
  /** Options of a TLS server of Node: certificate, key, and what is asked of clients. Default: no TLS. */
  readonly tls?: TlsOptions;
  /** Called when the TLS handshake of a connection fails. Default: none. */
  readonly onHandshakeFailure?: ((failure: HandshakeFailure) => void) | undefined;
  /** How long a connection may stay open without a call. Default 600 000. */
  readonly connectionIdleMs?: number;
  /** The engine of Flight SQL statements without one. Default: the only one of the service, else `local`. */
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
  /** Like `listen`, on a bound port. Its waiting clients are answered from now on. */
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
  // It prints invalid metadata to stderr, such as a token with a character too many.
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
  const server = createServer({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_concurrent_streams': MAX_CALLS_OF_A_CONNECTION,
    'grpc.keepalive_time_ms': KEEPALIVE_MS,
    'grpc.max_connection_idle_ms': options.connectionIdleMs ?? CONNECTION_IDLE_MS,
    interceptors: [calls.interceptor],
  }).use(calls.middleware);

  addServices(server, { service, current: calls.current, pace, decoders, defaultEngine });
  const credentials = new Credentials(options.tls);
  let connections: GrpcConnections | undefined;

  function onListener(listener: Server): void {
    connections = trackConnections(listener, {
      onHandshakeFailure: options.onHandshakeFailure,
      limit: { max: maxConnections, firstRequestMs: options.firstCallMs ?? FIRST_CALL_MS },
      http1Text: http1Text(options),
      reportRejected(headers) {
        const error = rejectionOf(headers);
        if (error === undefined) return false;
        calls.reportRejected(error, headers[':path'] ?? '', headers[REQUEST_ID_KEY]?.toString());
        return true;
      },
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

/** Returns the error of a call, if grpc-js rejects it by its headers. */
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

/** True for a call without credentials in its metadata: a health check, or a handshake with them in its message. */
function isOpen(operation: string, metadata: Metadata): boolean {
  if (operation === HANDSHAKE) return metadata.get(AUTHORIZATION_KEY).length === 0;
  return operation.startsWith(HEALTH_PREFIX);
}

/** Memory for decoding the parameters of statements, for all clients together. */
const MAX_DECODED_PARAMS_BYTES = 256 * 1024 * 1024;
/** The minimum recommended for HTTP/2; the client queues further calls of a connection. */
const MAX_CALLS_OF_A_CONNECTION = 100;
/** The default of how long a client may take until its first accepted call. */
const FIRST_CALL_MS = 10_000;
/** The default of how long a connection may stay open without a call. */
const CONNECTION_IDLE_MS = 600_000;
/** Without keepalive, a vanished peer would hold its connection forever. */
const KEEPALIVE_MS = 60_000;
/**
 * How long a cancelled call may take to end before its connection is destroyed, and again until its handler is
 * abandoned.
 */
const CANCEL_MS = 400;
const STOPPING = new ServiceError('unavailable', 'The server is stopping.');

/**
 * The credentials of a listener: plain, or with a replaceable certificate. grpc-js compares credentials by class, and its own
 * cannot be replaced, or ask for a certificate without requiring it.
 */
class Credentials extends ServerCredentials {
  constructor(tls: TlsOptions | undefined) {
    super(tls ?? null, tls);
  }

  /** Replaces certificate and key for new connections. */
  update(context: SecureContextOptions): void {
    this.updateSecureContextOptions(context);
  }

  _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
