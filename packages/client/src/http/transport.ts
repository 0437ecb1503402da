import { ClientError, cutOff } from './client-error.ts';
import { prepareBody, type SentBody } from './request-body.ts';
import type { ClientRequest, ClientResponse, Transport } from './request.ts';
import type { ByteStream } from './response-body.ts';
import { errorOf, isAccepted, retryAfterMs, sendOnce } from './send-once.ts';
import { type Silence, watchSilence } from './silence.ts';
import { uniqueId } from './unique-id.ts';

/** How to reach a server. */
export interface TransportOptions {
  /** The address of the server, with the path before those of its API if it has one. */
  readonly url: string | URL;
  /** The token to send. A function is called before each request, so that it can return a new one. Default: none. */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How long the server may be silent, in milliseconds. Default: 120 000. `Infinity`: for ever. */
  readonly timeoutMs?: number;
  /** How often a request is sent again if that is safe. Default: 2. */
  readonly retries?: number;
  /** Default: that of the platform. */
  readonly fetch?: typeof fetch;
}

/** Creates the transport to a server. */
export function createTransport(options: TransportOptions): Transport {
  const {
    token,
    timeoutMs = 120_000,
    retries = 2,
    headers,
    fetch: send = (input, init) => fetch(input, init),
  } = options;
  const url = baseUrl(options.url);

  /** Sends the request, and again if it fails and that is safe. */
  async function sendUntilAnswered(exchange: Exchange, bearer: string | undefined): Promise<ClientResponse> {
    const { request, requestId, silence, body, repeat } = exchange;
    const single = { ...request, body: undefined, requestId, signal: silence.signal };
    let isLost = false;
    for (let attempt = 0; ; attempt += 1) {
      const canRepeat = attempt < retries && repeat !== 'never' && body.isRepeatable;
      silence.expect(body.extraMs);
      const target = { url, token: bearer, headers, fetch: send };
      const response = await sendOnce(target, single, body.init).catch((error: unknown) => {
        const isSafe = repeat === 'read' || repeat === 'conditional';
        if (!canRepeat || !isSafe || silence.signal.aborted) throw connectionFailure(error, exchange);
      });
      silence.stop();
      if (response !== undefined) {
        const watched = { ...response, body: watchedBody(response.body, exchange) };
        if (isAccepted(response, request)) return watched;
        const isRefused = response.status === 429 || (response.status === 503 && repeat !== 'write');
        if (!canRepeat || !isRefused) throw await refusalOf(watched, exchange, { isLost });
        await response.body.return();
      }
      // A server that does not accept a write for now has not taken it.
      isLost ||= response?.status !== 429;
      await pause(retryDelay(attempt, response ? retryAfterMs(response.headers) : undefined), exchange);
    }
  }

  return {
    async send(request) {
      const { method = 'GET', requestId = uniqueId(), signal } = request;
      const bearer = typeof token === 'function' ? await token() : token;
      const repeat = request.repeat ?? (method === 'GET' || method === 'HEAD' ? 'read' : 'write');
      const silence = watchSilence(timeoutMs, signal, request.onAbort);
      try {
        signal?.throwIfAborted();
        const body = await prepareBody(request.body, silence);
        return await sendUntilAnswered({ url, request, requestId, repeat, silence, body }, bearer);
      } catch (error) {
        silence.end();
        throw error;
      }
    },
  };
}

/** Watches for silence while the bytes of a response are read. */
function watchedBody(body: ByteStream, exchange: Exchange): ByteStream {
  const { silence } = exchange;
  return {
    async next() {
      try {
        silence.expect();
        const next = await body.next();
        silence.stop();
        if (next.done === true) silence.end();
        return next;
      } catch (error) {
        silence.end();
        throw connectionFailure(error, exchange);
      }
    },
    return() {
      silence.end();
      return body.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Waits before the next attempt. */
async function pause(ms: number, exchange: Exchange): Promise<void> {
  const { signal } = exchange.silence;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
  if (signal.aborted) throw connectionFailure(signal.reason, exchange);
}

/** Returns the address of a server without a slash at its end. */
function baseUrl(given: string | URL): string {
  // In a page, the URL may be a path of its own server.
  // Deno has a `location` that is undefined.
  const { location: page }: { readonly location?: Location } = globalThis;
  const url = URL.canParse(given, page?.href) ? new URL(given, page?.href) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') {
    return (url.origin + url.pathname).replace(/\/+$/, '');
  }
  // Not quoted: it may have a password.
  throw new ClientError('The URL of the server is not an http or https URL without a user name.', {
    code: 'invalid_argument',
    hint: 'Write it as http://localhost:9000.',
  });
}

const FIRST_MS = 150;
const MAX_MS = 30_000;

/** How long to wait before the next attempt: what the server asks for, else longer each time, at random. */
function retryDelay(attempt: number, askedMs: number | undefined): number {
  return Math.min(askedMs ?? Math.random() * FIRST_MS * 2 ** (attempt + 1), MAX_MS);
}

/** One request, and what its errors tell. */
interface Exchange {
  readonly url: string;
  readonly request: ClientRequest;
  readonly requestId: string;
  readonly repeat: NonNullable<ClientRequest['repeat']>;
  readonly silence: Silence;
  readonly body: SentBody;
}

/** Failures of Node before any byte of a request was sent. */
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/** Says what is known of a connection that failed, before or after the head of the response. */
function connectionFailure(failure: unknown, { url, request, requestId, repeat, silence, body }: Exchange): unknown {
  if (request.signal?.aborted) return request.signal.reason;
  const sourceError = body.sourceError();
  if (sourceError !== undefined) return sourceError;
  const cause = failure instanceof ClientError ? failure.cause : failure;
  const reason = codeOf(cause);
  const details = { requestId, cause, isAmbiguous: repeat !== 'read' && !NOT_SENT.has(reason) };
  if (silence.isTooLong) {
    const hint = 'Raise timeoutMs if the server needs longer.';
    return new ClientError(`The server ${url} does not answer.`, { ...details, code: 'timeout', hint });
  }
  if (failure instanceof ClientError && failure.code === 'connection_lost') return cutOff(details);
  const hint = 'Check the URL and whether the server runs; in a browser, also http.cors_origins.';
  return new ClientError(`The server ${url} cannot be reached: ${reason}.`, { ...details, code: 'unreachable', hint });
}

function codeOf(error: unknown): string {
  const cause: unknown = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (typeof cause !== 'object' || cause === null) return String(cause);
  if ('code' in cause && typeof cause.code === 'string') return cause.code;
  return cause instanceof Error ? cause.message : 'unknown';
}

/** Makes the error of a response that is not accepted. */
async function refusalOf(
  response: ClientResponse,
  { url }: Exchange,
  { isLost }: { readonly isLost: boolean },
): Promise<ClientError> {
  const { status, headers, body, requestId } = response;
  const location = headers.get('location');
  // A browser shows nothing of a redirect, not even its status.
  if (location !== null || status === 0) {
    await body.return();
    const target = location === null ? '' : ` to ${JSON.stringify(location)}`;
    const hint = 'Use that address as the URL.';
    const details = { code: 'invalid_response', status, requestId, hint } as const;
    return new ClientError(`The server ${url} redirects${target}.`, details);
  }
  const refusal = await errorOf(response);
  if (!isLost || status !== 409) return refusal;
  return new ClientError('The connection was lost, and then the frame had changed: by this write, or another.', {
    code: 'ambiguous_write',
    hint: 'Read the frame to see which.',
    status,
    requestId,
    isAmbiguous: true,
    cause: refusal,
  });
}
