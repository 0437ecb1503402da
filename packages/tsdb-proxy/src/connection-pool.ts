import type { IncomingHttpHeaders } from 'node:http';
import type { OnReadOpts, Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import type { ServiceError } from '@svc/errors';
import { buildConnector, Client, type Dispatcher, errors, Pool } from 'undici';
import {
  type BodySource,
  createResponseBody,
  createStreamedResponse,
  type ResponseBody,
  responseHeaders,
} from './response.ts';
import type { TsdbResponse } from './tsdb-proxy.ts';
import { brokenOff, noResponse, redirected, TsdbCredentialsError, unusableStatus } from './upstream-failures.ts';
import type { UpstreamRequest } from './upstream-request.ts';

/** What is sent. */
export interface SentRequest {
  readonly method: string;
  /** The request target. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Readable | undefined;
  /** True if a status from 300 to 399 is the response, too: a redirect of the database to itself, or 304. Default: none is. */
  readonly canPassOn?: (status: number, location: string | undefined) => boolean;
}

/** One request. The pool assigns its connection; it is then the source of the response body. */
class ForwardedRequest implements Dispatcher.DispatchOptions, BodySource {
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable | null;
  readonly canPassOn: NonNullable<SentRequest['canPassOn']>;
  valve: ConnectionValve | undefined;
  connection: Dispatcher.DispatchController | undefined;

  constructor({ method, path, headers, body, canPassOn }: SentRequest) {
    this.method = method;
    this.path = path;
    this.headers = headers;
    this.body = body ?? null;
    this.canPassOn = canPassOn ?? (() => false);
  }

  reuseBuffers(): void {
    this.valve?.reuseBuffers();
  }

  pause(): void {
    this.valve?.shut();
  }

  resume(): void {
    this.valve?.open();
  }

  abort(reason: Error): void {
    this.connection?.abort(reason);
  }
}

/** Options of `createConnectionPool`. */
interface ConnectionPoolOptions {
  readonly connectTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxConnections: number;
  /** The certificate authorities to trust, as PEM. Undefined: those of Node. */
  readonly ca: string | undefined;
  /** Called with the socket of every new connection. */
  readonly onConnection: (socket: Duplex) => void;
}

/** A pool of HTTP/1.1 connections to one origin. */
interface ConnectionPool {
  /** Sends one request and never retries it: the SQL may be an INSERT. Resolves when the response headers have arrived. */
  send(request: SentRequest, upstream: UpstreamRequest): Promise<TsdbResponse>;
  /** Closes every connection. */
  close(): Promise<void>;
}

/** The most bytes of response headers, as for requests to this server. */
const MAX_HEAD_BYTES = 64 * 1024;

/**
 * Creates a pool without pipelining. An idle connection stays open for 4 s, or 2 s less than the `Keep-Alive` header of the
 * database says. undici's response timeouts are off: the caller has its own.
 */
export function createConnectionPool(origin: string, options: ConnectionPoolOptions): ConnectionPool {
  const connector = createConnector(options);
  const pool = new Pool(origin, {
    connections: options.maxConnections,
    pipelining: 1,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEAD_BYTES,
    keepAliveTimeout: 4_000,
    keepAliveTimeoutThreshold: 2_000,
    factory: (url, clientOptions: Client.Options) =>
      new ValvedClient(url, clientOptions, connector, options.onConnection),
  });
  return {
    send: (request, upstream) => send(pool, new ForwardedRequest(request), upstream, options),
    close: () => pool.destroy(),
  };
}

/** A client with one connection and its valve. */
class ValvedClient extends Client {
  readonly #valve: ConnectionValve;

  constructor(
    origin: URL,
    options: Client.Options,
    connector: buildConnector.connector,
    onConnection: (socket: Duplex) => void,
  ) {
    const valve = createConnectionValve();
    super(origin, {
      ...options,
      connect: (connectOptions, callback) => {
        connector(connectOptions, (...[error, socket]) => {
          if (error !== null) return callback(error, null);
          valve.attach(socket);
          onConnection(socket);
          callback(null, socket);
        });
      },
    });
    this.#valve = valve;
  }

  override dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (request instanceof ForwardedRequest) request.valve = this.#valve;
    return super.dispatch(request, handler);
  }
}

// Not `fetch`: it decodes bodies and follows redirects.
function send(
  pool: Pool,
  request: ForwardedRequest,
  upstream: UpstreamRequest,
  { connectTimeoutMs, idleTimeoutMs }: ConnectionPoolOptions,
): Promise<TsdbResponse> {
  return new Promise((resolve, reject) => {
    let hasBegun = false;
    let body: ResponseBody | undefined;
    upstream.onAbort((failure) => {
      reject(failure);
      request.abort(failure);
    });
    pool.dispatch(request, {
      onRequestStart(controller) {
        request.connection = controller;
        // While it waited for a connection, its deadline passed or its client disconnected: do not send it.
        if (upstream.failure !== undefined) controller.abort(upstream.failure);
      },
      onResponseStart(_controller, status, received) {
        // Skip informational responses such as 103.
        if (status >= 100 && status < 200) return;
        const refusal = request.canPassOn(status, textOf(received['location'])) ? undefined : refusalOf(status);
        if (refusal !== undefined) return upstream.abort(refusal);
        upstream.stopWaiting();
        hasBegun = true;
        const isUntilClose = isRedirectUntilClose(status, received);
        const hasBody = request.method !== 'HEAD' && status !== 204 && status !== 304 && !isUntilClose;
        const head = { status, headers: responseHeaders(received, hasBody) };
        if (hasBody) {
          body = createResponseBody(request, upstream, idleTimeoutMs);
          return resolve(createStreamedResponse(head, body.chunks));
        }
        resolve({ ...head, body: null });
        if (!isUntilClose) return;
        upstream.end();
        request.abort(new Error('a redirect needs no body'));
      },
      onResponseData(_controller, bytes) {
        if (!upstream.isOver) body?.push(bytes);
      },
      onResponseEnd() {
        const failure = request.valve?.failure() ?? null;
        request.valve?.end();
        if (failure !== null) upstream.abort(brokenOff(failure));
        else if (body === undefined) upstream.end();
        else if (!upstream.isOver) body.close();
      },
      onResponseError(_controller, error) {
        request.valve?.end();
        upstream.abort(hasBegun ? brokenOff(error) : noResponse(error, connectTimeoutMs));
      },
    });
  });
}

/**
 * True if the body of a redirect ends with its connection. QuestDB leaves that open: its redirect of `/` has neither a length
 * nor chunks.
 */
function isRedirectUntilClose(status: number, headers: IncomingHttpHeaders): boolean {
  const isRedirect = status >= 300 && status < 400 && status !== 304;
  return isRedirect && headers['content-length'] === undefined && headers['transfer-encoding'] === undefined;
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}

/** The error of a status, whatever the body is; undefined if the status may pass. */
function refusalOf(status: number): ServiceError | undefined {
  if (status === 401) return new TsdbCredentialsError();
  if (status >= 300 && status < 400) return redirected(status);
  // HTTP allows no body with 205, so a body could not be forwarded.
  return status < 100 || status === 205 || status >= 600 ? unusableStatus(status) : undefined;
}

/** Connects within the timeout. undici's timer can be a second late, so it only cleans up failed attempts. */
function createConnector({ connectTimeoutMs: timeoutMs, ca }: ConnectionPoolOptions): buildConnector.connector {
  const connect = buildConnector({
    timeout: timeoutMs,
    allowH2: false,
    onread: VALVED_READS,
    ...(ca !== undefined && { ca }),
  });
  return (options, callback) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      callback(new errors.ConnectTimeoutError(), null);
    }, timeoutMs);
    connect(options, (...result) => {
      clearTimeout(timer);
      if (isLate) result[1]?.destroy();
      else callback(...result);
    });
  };
}

/** The size of one read. */
const BYTES = 64 * 1024;

/** The most free buffers in the pool. */
const MAX_FREE = 32;

/** Small responses are read into this buffer and copied out of it immediately. */
const SHARED_BUFFER: Uint8Array = Buffer.allocUnsafeSlow(BYTES);

/** A pool of buffers for the readers of large responses. */
const freeBuffers: Uint8Array[] = [];

function takeBuffer(): Uint8Array {
  return freeBuffers.pop() ?? Buffer.allocUnsafeSlow(BYTES);
}

function releaseBuffer(buffer: Uint8Array): void {
  if (buffer !== SHARED_BUFFER && freeBuffers.length < MAX_FREE) freeBuffers.push(buffer);
}

/** Sits between a connection and its response parser, and applies backpressure while the reader is slow. */
interface ConnectionValve {
  /** Attaches to the connection, or to its successor. */
  attach(socket: Socket): void;
  /** From now until the response ends, reads are zero-copy: the parser gets the read buffer itself. */
  reuseBuffers(): void;
  /** The reader has consumed everything and wants more. */
  open(): void;
  shut(): void;
  /** The response is complete, though perhaps not read yet. */
  end(): void;
  /** The error of a broken connection, or null. */
  failure(): Error | null;
}

const MIN_ZERO_COPY_BYTES = 8 * 1024;

const feeds = new WeakMap<object, (buffer: Uint8Array, length: number) => boolean>();
let nextBuffer = SHARED_BUFFER;

/**
 * Reads into reused buffers. By default Node allocates 64 KiB for every read, however short, leaves it to the
 * garbage collector, and passes it through a stream.
 */
const VALVED_READS: OnReadOpts = {
  // Node calls this when a connection opens and after each read.
  buffer: () => {
    const buffer = nextBuffer;
    nextBuffer = SHARED_BUFFER;
    return buffer;
  },
  callback(this: Socket, length: number, buffer: Uint8Array) {
    return feeds.get(this)?.(buffer, length) ?? false;
  },
};

/**
 * undici applies backpressure by pausing its parser, and a paused parser crashes the process when the database closes the
 * connection (fixed in version 8, which does not run on Node 20). So the parser never pauses; the socket does.
 */
function createConnectionValve(): ConnectionValve {
  let isShut = false;
  let isReusing = false;
  let inUse: Uint8Array[] = [];
  let fed: Buffer | null = null;
  let readOn: (() => void) | undefined;
  let connection: Socket | undefined;

  function feed(socket: Socket, buffer: Uint8Array, length: number): boolean {
    // Copy a short read: over TLS many of them arrive while the socket is paused, and each would hold a whole buffer.
    const isZeroCopy = isReusing && buffer !== SHARED_BUFFER && length >= MIN_ZERO_COPY_BYTES;
    const bytes = Buffer.from(buffer.buffer, buffer.byteOffset, length);
    if (isZeroCopy) inUse.push(buffer);
    // Copied because the parser keeps references to incomplete headers.
    fed = isZeroCopy ? bytes : Buffer.from(bytes);
    socket.emit('readable');
    if (!isZeroCopy) releaseBuffer(buffer);
    nextBuffer = isReusing ? takeBuffer() : SHARED_BUFFER;
    return !isShut;
  }

  return {
    attach(socket) {
      isShut = false;
      isReusing = false;
      inUse = [];
      fed = null;
      connection = socket;
      const read: (size?: number) => unknown = socket.read.bind(socket);
      readOn = () => read(0);
      socket.read = (size?: number) => {
        if (fed === null) return isShut ? null : read(size);
        const bytes = fed;
        fed = null;
        return bytes;
      };
      feeds.set(socket, (buffer, length) => feed(socket, buffer, length));
      // Node reports a reset after unread bytes as a normal end; an empty write reveals it.
      socket.prependListener('end', () => void socket.write(''));
      // undici takes ECONNRESET for the normal end of a body without a length.
      socket.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNRESET') error.code = 'UND_ERR_RESET';
      });
    },

    reuseBuffers() {
      isReusing = true;
    },

    open() {
      if (!isShut) return;
      isShut = false;
      for (const buffer of inUse) releaseBuffer(buffer);
      inUse = [];
      readOn?.();
    },

    shut() {
      isShut = true;
    },

    end() {
      // Not released: the reader may still be using them.
      inUse = [];
      isReusing = false;
      if (!isShut) return;
      isShut = false;
      readOn?.();
    },

    failure: () => connection?.errored ?? null,
  };
}
