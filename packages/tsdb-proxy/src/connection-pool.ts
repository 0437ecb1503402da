import type { Duplex } from 'node:stream';
import { buildConnector, Client, type Dispatcher, errors, Pool } from 'undici';
import { createConnectionValve, VALVED_READS } from './connection-valve.ts';
import { ForwardedRequest } from './forwarded-request.ts';

/** Options of `createConnectionPool`. */
export interface ConnectionPoolOptions {
  readonly connectTimeoutMs: number;
  readonly maxConnections: number;
  /** The certificate authorities to trust, as PEM. Undefined: those that Node trusts. */
  readonly ca: string | undefined;
  /** Called with the socket of every connection that is opened. Default: none. */
  readonly onConnection?: (socket: Duplex) => void;
}

/** The most bytes of response headers, the same limit that this server has for requests. */
const MAX_HEAD_BYTES = 64 * 1024;

/**
 * A pool of HTTP/1.1 connections to one origin, without pipelining. An idle connection stays open for 4 s, or 2 s less than
 * the `Keep-Alive` header of the database says. undici's response timeouts are off: the caller has its own.
 */
export function createConnectionPool(origin: string, options: ConnectionPoolOptions): Dispatcher {
  const connector = createConnector(options);
  return new Pool(origin, {
    connections: options.maxConnections,
    pipelining: 1,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEAD_BYTES,
    keepAliveTimeout: 4_000,
    keepAliveTimeoutThreshold: 2_000,
    factory: (url, clientOptions) => createClient(url, clientOptions, connector, options.onConnection),
  });
}

/** A client with one connection and its valve. */
function createClient(
  origin: URL,
  options: Client.Options,
  connector: buildConnector.connector,
  onConnection: ConnectionPoolOptions['onConnection'],
): Dispatcher {
  const valve = createConnectionValve();
  const client = new Client(origin, {
    ...options,
    connect: (connectOptions, callback) => {
      connector(connectOptions, (...[error, socket]) => {
        if (error !== null) return callback(error, null);
        valve.attach(socket);
        onConnection?.(socket);
        callback(null, socket);
      });
    },
  });
  const dispatch = client.dispatch.bind(client);
  client.dispatch = (request, handler) => {
    if (request instanceof ForwardedRequest) request.valve = valve;
    return dispatch(request, handler);
  };
  return client;
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
