import { createServer, IncomingMessage, type Server, type ServerOptions, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { getRequestListener, type Http2Bindings, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { limitConnections, trackHandshakes } from '@svc/auth/internal';
import type { Config } from '@svc/config';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { writeStreamed } from '@svc/exec-http';
import type { Observer, Service } from '@svc/service';
import type { ListenerTls } from '../parts/open-tls.ts';
import { answerClientErrors, malformedRequest, rawResponse, refuseAndClose } from './client-errors.ts';
import { awaitsBody, connectionEvent, type Connections, type RunningRequest, serveInOrder } from './connections.ts';
import type { HttpApp } from './create-app.ts';
import { JoinedBody } from './joined-body.ts';
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

/**
 * Sends `100 Continue` when the body of a request is first read, to clients that wait for it. Node would send it at once;
 * a request that is refused for its head would then still transfer its whole body.
 */
function continueWhenRead(server: Server, connections: Connections): void {
  server.on('checkContinue', (request, response) => {
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue();
    });
    connections.answer(request, response);
  });
}

/**
 * Finds ambiguous framing or routing that Node's parser accepts. A proxy in front may interpret it differently and treat a
 * part of the body as another request (request smuggling).
 */
function framingProblem({ headers, httpVersion, rawHeaders }: IncomingMessage): ServiceError | undefined {
  const hosts = rawHeaders.filter((text, i) => i % 2 === 0 && text.length === 4 && text.toLowerCase() === 'host');
  if (hosts.length > 1) {
    return new ServiceError('invalid_argument', `The request has ${hosts.length} Host headers.`, {
      hint: 'Send one Host header.',
    });
  }
  const coding = headers['transfer-encoding'];
  if (coding === undefined || (coding.toLowerCase() === 'chunked' && httpVersion === '1.1')) return undefined;
  const message = `Transfer-Encoding: ${quoted(coding)} is not supported with HTTP/${httpVersion}.`;
  return new ServiceError('invalid_argument', message, {
    hint: 'Send Content-Length, or Transfer-Encoding: chunked with HTTP/1.1.',
  });
}

/**
 * Closes connections whose client is idle: it stops sending its head or body, or stops reading the response. A connection
 * that waits for the server, or for the database behind it, stays open.
 */
function endIdleSockets(server: Server, connections: Connections, idleTimeoutMs: number): void {
  server.timeout = idleTimeoutMs;
  server.on('timeout', (socket: Socket) => {
    const current = connections.running(socket);
    if (current === undefined || isClientIdle(current)) socket.destroy();
    else socket.setTimeout(idleTimeoutMs);
  });
}

function isClientIdle(running: RunningRequest): boolean {
  const { response } = running;
  return response.headersSent ? response.writableLength > 0 : awaitsBody(running);
}

/**
 * Ignores the `Upgrade` header, as HTTP allows: `curl --http2` and Java's client send it to request HTTP/2. Without a
 * listener Node answers such requests too, but loses the data after them; so the request is pushed back onto the
 * connection without its `Upgrade` header, and parsed again.
 */
function ignoreUpgrades(server: Server, connections: Connections): void {
  server.on('upgrade', (request: IncomingMessage, socket: Socket, rest: Buffer) => {
    // Node has removed its listener; without one an error would end the process.
    const onError = (): void => void socket.destroy();
    socket.on('error', onError);
    connections.whenAnswered(socket, () => {
      socket.off('error', onError);
      socket.unshift(Buffer.concat([Buffer.from(headWithoutUpgrade(request), 'latin1'), rest]));
      server.emit(connectionEvent(server), socket);
    });
  });
}

function headWithoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${rawHeaders[i + 1]}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}
