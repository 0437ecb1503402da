import { buildConnector, Client, type Dispatcher, errors, Pool } from 'undici';
import { createConnectionValve, VALVED_READS } from './connection-valve.ts';
import { ForwardedRequest } from './forwarded-request.ts';

/** What a connection pool needs to know. */
export interface ConnectionPoolOptions {
  readonly connectTimeoutMs: number;
  readonly maxConnections: number;
  /** The authorities to trust, in PEM form; undefined: those that Node trusts. */
  readonly ca: string | undefined;
}

/** The largest head of an answer, as large as the heads this server takes itself. */
const MAX_HEAD_BYTES = 64 * 1024;

/**
 * HTTP/1.1 connections to one origin: kept open for 4 s of idleness (or as long as the database says in `Keep-Alive`,
 * less 2 s), one request at a time each. The waiting is timed by the caller, so the timeouts of the client are off.
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
    factory: (url, clientOptions) => createClient(url, clientOptions, connector),
  });
}

/** One connection, with a valve of its own. */
function createClient(origin: URL, options: Client.Options, connector: buildConnector.connector): Dispatcher {
  const valve = createConnectionValve();
  const client = new Client(origin, {
    ...options,
    connect: (connectOptions, callback) => {
      connector(connectOptions, (...[error, socket]) => {
        if (error !== null) return callback(error, null);
        valve.attach(socket);
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

/** Connects in time. undici's own timer can be a second late, so that it only clears away what came to nothing. */
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
