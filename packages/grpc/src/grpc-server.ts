import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http2';
import type { Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServerInterceptor } from '@grpc/grpc-js';
import { ServiceError } from '@svc/errors';
import { createDecoders } from '@svc/frames';
import { FrameServiceDefinition, HealthDefinition, reflectionV1, reflectionV1alpha } from '@svc/proto';
import type { Service } from '@svc/service';
import { createServer } from 'nice-grpc';
import { bindListener } from './bind-listener.ts';
import { createCalls } from './calls.ts';
import { REQUEST_ID_KEY } from './error-status.ts';
import { createFlightService, FlightDefinition } from './flight/flight-service.ts';
import { sendUncopied } from './flight/send-uncopied.ts';
import { createFrameService } from './frame-service.ts';
import { freeDeadConnections } from './free-dead-connections.ts';
import { type GrpcConnections, trackConnections } from './grpc-connections.ts';
import { createHealthService } from './health-service.ts';
import { createReflectionService } from './reflection-service.ts';

/** What a gRPC server serves, and its limits. */
export interface GrpcServerOptions {
  /** Answers the calls. */
  readonly service: Service;
  /** Connections at one time; one more is closed at once and disturbs none. Default 100. */
  readonly maxConnections?: number;
  /** Bytes of one message from a client. Default 64 MiB. */
  readonly maxMessageBytes?: number;
  /** How long the client of an upload may be silent before the call is DEADLINE_EXCEEDED. Default 60 000. */
  readonly idleTimeoutMs?: number;
}

/** How to end a server. */
export interface ShutdownOptions {
  /** Cancels the calls that still run when it aborts. Default: they are waited for, however long they take. */
  readonly signal?: AbortSignal;
}

/** The gRPC front of a service. */
export interface GrpcServer {
  /**
   * Listens on an address, once; port 0 picks a free one. Resolves to the port. Where it cannot listen the error is the
   * system's, with its `code`, such as `EADDRINUSE`.
   */
  listen(host: string, port: number): Promise<number>;
  /**
   * Takes no more connections and calls, and resolves when the last running call has ended: health watches at once, the
   * others by themselves or, when the signal aborts, with UNAVAILABLE. A call that does not end then is given up within
   * one second. Connections without a call are closed at once.
   */
  shutdown(options?: ShutdownOptions): Promise<void>;
}

/** A gRPC server with frames, Arrow Flight, Flight SQL, health and reflection. */
export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const { service, maxConnections = 100, maxMessageBytes = 64 * 1024 * 1024, idleTimeoutMs = 60_000 } = options;
  const calls = createCalls({ observe: service.observe, maxMessageBytes });
  const decoders = createDecoders({ maxBytes: MAX_DECODED_PARAMS_BYTES });
  const interceptor: ServerInterceptor = (method, call) => {
    sendUncopied(call);
    return calls.interceptor(method, call);
  };
  const server = createServer({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_concurrent_streams': MAX_CALLS_OF_A_CONNECTION,
    'grpc.keepalive_time_ms': KEEPALIVE_MS,
    interceptors: [interceptor],
  }).use(calls.middleware);

  const names = SERVICES.map((definition) => definition.fullName).toSorted();
  const { current } = calls;
  server.add(FrameServiceDefinition, createFrameService({ service, current, idleTimeoutMs }));
  server.add(FlightDefinition, createFlightService({ service, current, idleTimeoutMs, decoders }));
  server.add(HealthDefinition, createHealthService({ service, names, current }));
  server.add(reflectionV1.ServerReflectionDefinition, createReflectionService(names));
  server.add<typeof reflectionV1alpha.ServerReflectionDefinition>(
    reflectionV1alpha.ServerReflectionDefinition,
    createReflectionService(names),
  );

  let connections: GrpcConnections | undefined;

  function onListener(listener: Server): void {
    listener.maxConnections = maxConnections;
    connections = trackConnections(listener);
    freeDeadConnections(listener, connections);
    listener.on('stream', (_stream, headers: IncomingHttpHeaders) => {
      const path = headers[':path'] ?? '';
      if (!PATHS.has(path)) calls.reportUnknown(path, headers[REQUEST_ID_KEY]?.toString());
    });
  }

  let stopped: Promise<void> | undefined;

  async function stop(): Promise<void> {
    const closed = connections?.closed();
    // Its promise does not resolve where a session has failed before: the listener itself says when it is closed.
    void server.shutdown();
    connections?.closeIdle();
    calls.cancel(STOPPING, (operation) => operation.startsWith('grpc.'));
    await closed;
    await calls.settled();
    await decoders.close();
  }

  /** Cancels what still runs when the signal aborts; `isOver` aborts when there is nothing left to wait for. */
  async function cancelWith(signal: AbortSignal, isOver: AbortSignal): Promise<void> {
    if (!signal.aborted) await once(signal, 'abort', { signal: isOver });
    calls.cancel(STOPPING);
    await delay(CANCEL_MS, undefined, { signal: isOver });
    connections?.destroy();
    await delay(CANCEL_MS, undefined, { signal: isOver });
  }

  return {
    async listen(host, port) {
      const { address, family } = await lookup(host);
      return bindListener({ address, port, onListener }, () =>
        server.listen(family === 6 ? `[${address}]:${port}` : `${address}:${port}`),
      );
    },

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

const SERVICES = [
  FrameServiceDefinition,
  FlightDefinition,
  HealthDefinition,
  reflectionV1.ServerReflectionDefinition,
  reflectionV1alpha.ServerReflectionDefinition,
];
const PATHS = new Set(
  SERVICES.flatMap(({ fullName, methods }) => Object.values(methods).map(({ name }) => `/${fullName}/${name}`)),
);

/** For the parameters of statements while they are read, of all clients together. */
const MAX_DECODED_PARAMS_BYTES = 256 * 1024 * 1024;
/** What HTTP/2 advises as the least; more calls of a connection wait at the client. */
const MAX_CALLS_OF_A_CONNECTION = 100;
/** A peer that is gone without a word would hold its connection for ever. */
const KEEPALIVE_MS = 60_000;
/** How long a cancelled call may take to end with a status before its connection is cut, and after that its handler. */
const CANCEL_MS = 400;
const STOPPING = new ServiceError('unavailable', 'The server is stopping.');
