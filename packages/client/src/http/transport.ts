import { ClientError, cutOff, errorFromText, invalidResponse } from './client-error.ts';
import {
  type ByteStream,
  type ClientRequest,
  type ClientResponse,
  prepareBody,
  readBody,
  readText,
  type SentBody,
  type Silence,
  type SingleRequest,
  type Transport,
  uniqueId,
  watchSilence,
} from './request.ts';

/** How to reach a server. */
export interface TransportOptions {
  /** The address of the server, with the path before those of its API if it has one. */
  readonly url: string | URL;
  /** The token to send. A function is called before each request, and can return a new one. Default: none. */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How long the server may be silent, in milliseconds. Default: 120 000. `Infinity`: for ever. */
  readonly timeoutMs?: number;
  /** How often a request is sent again if it is safe. Default: 2. */
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

  /** Sends the request, and again if it fails and a repetition is safe. */
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
      // If the server does not accept a write for now, it has not taken it.
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
  // In Deno `location` is undefined.
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

/** Says what is known of a failed connection, before or after the head of the response. */
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

/** Makes the error of a refused response. */
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

/** The server of a request. */
export interface Target {
  /** Its address, without a slash at the end. */
  readonly url: string;
  readonly token?: string | undefined;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly fetch: typeof fetch;
}

/** Returns the address of a path with its parameters. */
export function addressOf(url: string, { path, params = {} }: Pick<SingleRequest, 'path' | 'params'>): string {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const one of [value].flat()) if (one !== undefined) found.append(name, String(one));
  }
  return `${url}/${path}${found.size > 0 ? `?${found}` : ''}`;
}

/** Sends a request once, and returns its response of any status. Throws an `unreachable` if there is none. */
export async function sendOnce(target: Target, request: SingleRequest, init?: RequestInit): Promise<ClientResponse> {
  const { method = 'GET', requestId = uniqueId(), signal, body } = request;
  const headers = new Headers(target.headers);
  if (target.token !== undefined) headers.set('authorization', `Bearer ${target.token}`);
  headers.set('x-request-id', requestId);
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    if (value !== undefined) headers.set(name, value);
  }
  const failed = (error: ClientError): unknown => (signal?.aborted ? signal.reason : error);
  const response = await target
    .fetch(addressOf(target.url, request), {
      method,
      headers,
      cache: 'no-store',
      redirect: 'manual',
      ...(signal && { signal }),
      // The types of DOM exclude shared memory. `fetch` refuses it by itself.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      ...(body !== undefined && { body: body as BodyInit }),
      ...init,
    })
    .catch((cause: unknown) => {
      const hint = 'Check that it runs, then try again.';
      throw failed(new ClientError('The server does not answer.', { code: 'unreachable', cause, hint }));
    });
  const id = response.headers.get('x-request-id') ?? requestId;
  return {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers,
    requestId: id,
    body: readBody(response.body, signal, (cause) => failed(cutOff({ requestId: id, cause }))),
  };
}

/** True to return the response to a request; else it is thrown as an error. */
export function isAccepted({ status }: ClientResponse, { accept = [] }: Pick<SingleRequest, 'accept'>): boolean {
  return (status >= 200 && status < 300) || accept === 'any' || accept.includes(status);
}

const MAX_ERROR_BYTES = 1024 * 1024;

/** Reads the error of a refused response. */
export async function errorOf({ status, headers, requestId, body }: ClientResponse): Promise<ClientError> {
  const text = await readText(body, MAX_ERROR_BYTES);
  return errorFromText(status, text, { requestId, retryAfterMs: retryAfterMs(headers) });
}

/** Returns how long the server asks to wait before the next attempt. It sends no date, so a date is ignored. */
function retryAfterMs(headers: Headers): number | undefined {
  const ms = Number(headers.get('retry-after') ?? Number.NaN) * 1000;
  return ms >= 0 ? ms : undefined;
}

const MAX_BYTES = 256 * 1024 * 1024;

/** Reads a short response as JSON. It must be an object; its form is part of the API, and not checked. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- The caller knows what it asked for.
export async function readJson<T extends object>({ body, requestId, status }: ClientResponse): Promise<T> {
  const text = await readText(body, MAX_BYTES);
  try {
    const value: unknown = JSON.parse(text);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    if (typeof value === 'object' && value !== null) return value as T;
  } catch {
    // It is reported as any other text.
  }
  throw invalidResponse('The response is not JSON of a data-frame server.', { status, requestId });
}
