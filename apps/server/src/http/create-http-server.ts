import { createServer, IncomingMessage, type Server, type ServerOptions, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { getRequestListener, type Http2Bindings, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { limitConnections, trackHandshakes } from '@svc/auth/internal';
import { type Config, formatAddress } from '@svc/config';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { createResponseCache, writeStreamed } from '@svc/exec-http';
import type { Observer, Service } from '@svc/service';
import { answerClientErrors, malformedRequest, rawResponse, refuseAndClose } from './client-errors.ts';
import {
  awaitsBody,
  connectionEvent,
  type Connections,
  endSlowBodies,
  type RunningRequest,
  serveInOrder,
} from './connections.ts';
import { createApp, createMetricsApp, type HttpApp } from './create-app.ts';
import { listenError, listenHttp } from './listen.ts';
import { type Metrics, metricsHandler } from '../metrics/metrics.ts';
import type { ListenerTls } from '../parts/open-credentials.ts';
import { cacheShares } from '../parts/open-store.ts';

/**
 * Creates the server of the API, and one for the metrics if they have an address of their own. They do not listen yet.
 * Without `tls` they speak plain HTTP.
 */
export function createHttpServers(
  config: Config,
  service: Service,
  {
    isStarting,
    tls,
    metrics,
  }: {
    readonly isStarting: () => boolean;
    readonly tls: ListenerTls | undefined;
    readonly metrics: Metrics | undefined;
  },
) {
  const { bind_address: address } = config.metrics;
  const answerCache = createResponseCache(cacheShares(config).answerBytes);
  const handler = metrics && metricsHandler(service, metrics);
  const state = { isStarting, answerCache, metrics: address === undefined ? handler : undefined };
  const server = createHttpServer(config, service, tls, (inFlight) =>
    createApp(config, service, { ...state, inFlight }),
  );
  const main = { ...server, answerCache };
  if (address === undefined || handler === undefined) return { main, metrics: undefined };
  const own = createHttpServer(config, service, tls, (inFlight) =>
    createMetricsApp(config, service, { inFlight, metrics: handler }),
  );
  /** Resolves to the URL. Fails with a `ListenError`. */
  const listen = async (): Promise<string> => {
    const { host, port } = address;
    const bound = await listenHttp(own.http, host, port).catch((error: unknown) => {
      throw listenError(error, host, port, 'metrics.bind_address');
    });
    return `${tls === undefined ? 'http' : 'https'}://${formatAddress({ host, port: bound })}`;
  };
  return { main, metrics: { ...own, listen } };
}

/** The maximum size of request line and headers together. */
const MAX_HEAD_BYTES = 64 * 1024;
/** How long a client may take to send the head of a later request. */
const HEAD_TIMEOUT_MS = 60_000;

/** A server, and the connections of its clients. */
export interface HttpServer {
  readonly http: Server;
  readonly connections: Connections;
}

/** Creates a server. `appFor` gets the number of requests in flight. */
function createHttpServer(
  config: Config,
  { observe }: Pick<Service, 'observe'>,
  tls: ListenerTls | undefined,
  appFor: (inFlight: () => number) => HttpApp,
): HttpServer {
  const app = appFor(() => connections.inFlight());
  const answer = async (request: Request, env: HttpBindings | Http2Bindings): Promise<Response> => {
    const { incoming, outgoing } = env;
    if (!(incoming instanceof IncomingMessage && outgoing instanceof ServerResponse)) return malformedRequest(observe);
    const response = await app(request, { incoming, outgoing });
    return writeStreamed(response, outgoing) ? RESPONSE_ALREADY_SENT : response;
  };
  const listener = getRequestListener(answer, {
    hostname: 'localhost',
    // The app handles its own errors: only a malformed request ends here.
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
  endSlowBodies(http, connections, bytesPerSecond, windowMs);
  let stoppedAt: number | undefined;
  const endIdle = (idleMs: number): void => {
    connections.endIdle(idleMs);
    stoppedAt ??= performance.now();
    if (performance.now() - stoppedAt >= idleMs) endHandshakes();
  };
  return { http, connections: { ...connections, endIdle } };
}

/** A server, and how to close connections before the end of their TLS handshake. */
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
 * Sends `100 Continue` when the body of a request is first read. Node would send it at once; a request refused for its
 * head would then still transfer its whole body.
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
 * Finds ambiguous framing or routing that Node's parser accepts. A proxy in front may interpret it differently and
 * treat a part of the body as another request (request smuggling).
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
 * Closes connections of idle clients: they stop sending a head or body, or stop reading the response. If a connection
 * waits for the server, or for the database behind it, it stays open.
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

/** A longer chunk is passed on at once. */
const SHORT_BYTES = 4096;
/** The most bytes of short chunks until the end of a turn. */
const MAX_WAITING_BYTES = 64 * 1024;
/** With this many short chunks, the rest of the connection is read in a later turn. */
const MANY_CHUNKS = 256;

/**
 * A request with joined chunks: the short ones of its body in one turn of the event loop. Node parses up to 64 KiB of a
 * connection at once. A client can cut them into ten thousand chunks of one byte, and each one would cost the streams
 * behind this one 30 µs, instead of the 2 µs of the parser.
 */
export class JoinedBody extends IncomingMessage {
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;

  override push(chunk: Uint8Array | null, encoding?: BufferEncoding): boolean {
    if (chunk === null || chunk.length > SHORT_BYTES) {
      this.#flush();
      return super.push(chunk, encoding);
    }
    if (this.#waiting.length === 0) setImmediate(() => this.#flush());
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes >= MAX_WAITING_BYTES) return this.#flush();
    const hasRoom = this.readableLength + this.#waitingBytes < this.readableHighWaterMark;
    return hasRoom && this.#waiting.length !== MANY_CHUNKS;
  }

  /** Node calls this for an unread body, and would then parse megabytes of it in one turn. */
  _dump(): void {
    this.resume();
  }

  #flush(): boolean {
    if (this.#waiting.length === 0) return true;
    const chunks = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    return super.push(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
  }
}
