import { createServer, IncomingMessage, type Server, type ServerOptions, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { getRequestListener, type Http2Bindings, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { limitConnections, trackHandshakes } from '@svc/auth/internal';
import type { Config } from '@svc/config';
import { ServiceError } from '@svc/errors';
import { writeStreamed } from '@svc/exec-http';
import type { Observer, Service } from '@svc/service';
import { answerClientErrors, malformedRequest, rawResponse, refuseAndClose } from './client-errors.ts';
import { type Connections, serveInOrder } from './connections.ts';
import type { HttpApp } from './create-app.ts';
import { continueWhenRead } from './expect-continue.ts';
import { framingProblem } from './framing-problem.ts';
import { endIdleSockets } from './idle-sockets.ts';
import { ignoreUpgrades } from './ignore-upgrades.ts';
import { JoinedBody } from './joined-body.ts';
import type { ListenerTls } from '../parts/open-tls.ts';
import { endSlowBodies } from './slow-bodies.ts';

/** The maximum size of request line and headers together. */
const MAX_HEAD_BYTES = 64 * 1024;
/** How long a client may take to send the head of a later request. */
const HEAD_TIMEOUT_MS = 60_000;

/** Options of `createHttpServer`, besides the configuration. */
export interface HttpServerOptions {
  /** Creates the application; `inFlight` returns the number of requests in flight. */
  readonly createApp: (inFlight: () => number) => HttpApp;
  /** Undefined: plain HTTP. */
  readonly tls: ListenerTls | undefined;
}

/** A server, and the connections of its clients. */
export interface HttpServer {
  readonly http: Server;
  readonly connections: Connections;
}

/** Creates the HTTP server; it does not listen yet. */
export function createHttpServer(
  config: Config,
  { observe }: Pick<Service, 'observe'>,
  { createApp, tls }: HttpServerOptions,
): HttpServer {
  const app = createApp(() => connections.inFlight());
  const answer = async (request: Request, env: HttpBindings | Http2Bindings): Promise<Response> => {
    const { incoming, outgoing } = env;
    if (!(incoming instanceof IncomingMessage && outgoing instanceof ServerResponse)) return malformedRequest(observe);
    const response = await app(request, { incoming, outgoing });
    return writeStreamed(response, outgoing) ? RESPONSE_ALREADY_SENT : response;
  };
  const listener = getRequestListener(answer, {
    hostname: 'localhost',
    // The app handles its own errors: only a request that could not be constructed ends here.
    errorHandler: () => malformedRequest(observe),
  });
  const options = {
    IncomingMessage: JoinedBody,
    maxHeaderSize: MAX_HEAD_BYTES,
    // The app answers a missing Host in JSON, and an upload may take longer than any fixed time.
    requireHostHeader: false,
    requestTimeout: 0,
    // Starts with the first byte of a request, so it may be shorter than the keep-alive timeout.
    headersTimeout: HEAD_TIMEOUT_MS,
    keepAliveTimeout: config.http.keep_alive_ms,
  };
  const { http, endHandshakes } = tls === undefined ? plainServer(options) : tlsServer(options, tls, observe);
  // Node would drop the headers after the 2000th silently, such as a condition or a second Host. Their bytes are limited.
  http.maxHeadersCount = 0;
  const { first_request_timeout_ms: firstRequestMs } = config.server;
  // Clients of HTTP connect again if the server closes an idle connection.
  const limit = { max: config.http.max_connections, firstRequestMs, closesOwnIdle: true };
  const connections = serveInOrder(http, limitConnections(http, limit), (request, response) => {
    const problem = framingProblem(request);
    if (problem === undefined) void listener(request, response);
    else refuseAndClose(response, problem, observe);
  });
  answerClientErrors(http, connections, observe);
  continueWhenRead(http, connections);
  ignoreUpgrades(http, connections);
  endIdleSockets(http, connections, config.http.idle_timeout_ms);
  const { min_body_bytes_per_second: bytesPerSecond, idle_timeout_ms: windowMs } = config.http;
  endSlowBodies(http, connections, { bytesPerSecond, windowMs });
  let stoppedAt: number | undefined;
  const endIdle = (idleMs: number): void => {
    connections.endIdle(idleMs);
    stoppedAt ??= performance.now();
    if (performance.now() - stoppedAt >= idleMs) endHandshakes();
  };
  return { http, connections: { ...connections, endIdle } };
}

/** A server, and how to close connections that have not finished their TLS handshake. */
interface HttpListener {
  readonly http: Server;
  readonly endHandshakes: () => void;
}

function plainServer(options: ServerOptions): HttpListener {
  return { http: createServer(options), endHandshakes: () => undefined };
}

function tlsServer(
  options: ServerOptions,
  { options: tlsOptions, files, onFailure }: ListenerTls,
  observe: Observer,
): HttpListener {
  const http = createTlsServer({ ...options, ...tlsOptions, ...files.current.context });
  files.onChange(({ context }) => http.setSecureContext(context));
  const handshakes = trackHandshakes(http, {
    onFailure,
    plainAnswer: () => rawResponse(NOT_TLS, { observe, socket: null }),
  });
  return { http, endHandshakes: () => handshakes.destroy() };
}

const NOT_TLS = new ServiceError('invalid_argument', 'This port speaks TLS, and the request is plain HTTP.', {
  hint: 'Write https:// instead of http://.',
});
