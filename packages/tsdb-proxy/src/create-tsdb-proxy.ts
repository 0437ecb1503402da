import { type Duplex, Readable } from 'node:stream';
import { ServiceError } from '@svc/errors';
import { traceHeaders } from '@svc/frames';
import { isCancelled } from '@svc/frames/async';
import type { SentRequest } from './connection-pool.ts';
import { checkOptions, type TsdbProxyOptions } from './proxy-options.ts';
import { cancelled, UpstreamRequest } from './upstream-request.ts';
import type { TsdbPassRequest, TsdbProxy, TsdbRequest } from './tsdb-proxy.ts';
import { late } from './upstream-failures.ts';

/** Creates a proxy for one time-series database. It connects on the first `forward`. Throws if an option is invalid. */
export function createTsdbProxy(options: TsdbProxyOptions): TsdbProxy {
  const { base, authorization, ca, connectTimeoutMs, timeoutMs, idleTimeoutMs, maxConnections } = checkOptions(options);
  const open = new Set<object>();
  const onConnection = (socket: Duplex): void => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  };
  const settings = { connectTimeoutMs, idleTimeoutMs, maxConnections, ca, onConnection };
  // Loads undici without delaying the start.
  const loading = import('./connection-pool.ts').then((pools) => pools.createConnectionPool(base.origin, settings));
  const headers = { 'accept-encoding': 'identity', ...(authorization === undefined ? {} : { authorization }) };
  const inFlight = new Set<UpstreamRequest>();
  // Below a path, a redirect of the database would lead to another path here.
  const canRedirect = base.pathname === '/';
  const canPassOn = (status: number, location = ''): boolean =>
    status === 304 || (status >= 300 && status < 400 && canRedirect && /^\/(?!\/)/.test(location));
  const lateness = () => late(timeoutMs);
  let isClosed = false;

  return {
    get connections() {
      return open.size;
    },

    async forward(call, request) {
      const path = requestTarget(base, request);
      const pool = await loading;
      if (isClosed) throw stopping();
      if (isCancelled(call)) throw cancelled(call.signal);

      const upstream = new UpstreamRequest(call, inFlight);
      if (upstream.failure !== undefined) throw upstream.failure;
      upstream.waitFor(timeoutMs, lateness);
      const own = call.trace === undefined ? headers : { ...headers, ...traceHeaders(call.trace) };
      if (!('target' in request)) return pool.send({ method: 'GET', path, headers: own }, upstream);
      // The deadline of the response begins when the body is sent.
      const sent = passedRequest(request, path, own, () => upstream.waitFor(timeoutMs, lateness));
      return pool.send({ ...sent, canPassOn }, upstream);
    },

    async close() {
      isClosed = true;
      for (const upstream of inFlight) upstream.abort(stopping());
      await (await loading).close();
    },
  };
}

/** The headers of a request for the database. Credentials and `Accept-Encoding` are those of this server. */
const PASSED_HEADERS = [
  'accept',
  'accept-language',
  'content-encoding',
  'content-length',
  'content-type',
  'if-modified-since',
  'if-none-match',
  'range',
] as const;

function passedRequest(
  { method, headers, body }: TsdbPassRequest,
  path: string,
  own: Readonly<Record<string, string>>,
  onChunk: () => void,
): SentRequest {
  const passed = PASSED_HEADERS.flatMap((name) => {
    const value = headers[name];
    return value === undefined || (body === undefined && name.startsWith('content-')) ? [] : [[name, value] as const];
  });
  return {
    method,
    path,
    headers: { ...Object.fromEntries(passed), ...own },
    body: body && Readable.from(eachChunk(body, onChunk), { objectMode: false }),
  };
}

/** Calls a function with each chunk, before it is passed on. */
async function* eachChunk(body: AsyncIterable<Uint8Array>, onChunk: () => void): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of body) {
    onChunk();
    yield chunk;
  }
  onChunk();
}

function stopping(): ServiceError {
  return new ServiceError('unavailable', 'The server is stopping and forwards no more SQL.');
}

/** The longest request target, in bytes. QuestDB closes the connection without a response from 32 211 bytes on. */
export const MAX_TARGET_BYTES = 32_000;

/** Returns the request target below a base URL: path and encoded parameters, as sent over the wire. */
export function requestTarget(base: URL, request: TsdbRequest | TsdbPassRequest): string {
  const target = `${base.pathname.replace(/\/+$/, '')}${'target' in request ? request.target : encodedTarget(request)}`;
  if (target.length > MAX_TARGET_BYTES) throw tooLong(String(target.length));
  return target;
}

function tooLong(length: string): ServiceError {
  return new ServiceError(
    'uri_too_long',
    `The encoded request has ${length} bytes; the time-series database accepts at most ${MAX_TARGET_BYTES}.`,
  );
}

function encodedTarget({ path, params }: TsdbRequest): string {
  // Encoding makes no text shorter, and takes long for a megabyte.
  const length = params.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (length > MAX_TARGET_BYTES) throw tooLong(`more than ${length}`);
  return `${path}?${params.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')}`;
}

/** Encodes as much as a URL parser would: the length is the one on the wire. */
function encode(text: string): string {
  try {
    return encodeURIComponent(text).replaceAll("'", '%27');
  } catch (error) {
    throw new ServiceError(
      'invalid_argument',
      'A parameter contains an unpaired surrogate, which is not valid Unicode.',
      {
        hint: 'Send the SQL as valid UTF-8.',
        cause: error,
      },
    );
  }
}
