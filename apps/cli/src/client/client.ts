import type { ReadableStreamDefaultReader } from 'node:stream/web';
import { isLoopback } from '@svc/config';
import { ServiceError } from '@svc/errors';
import type { KyInstance, Options } from 'ky';
import type { GenericSchema } from 'valibot';
import { checkResponse, type ExpectedResponse } from './check-response.ts';
import { CliError, incompleteResponse, invalidResponse } from '../errors/cli-error.ts';
import { connectionError } from './connection-error.ts';
import { parseJson } from '../text/parse-json.ts';
import { refusalOf } from './refusal.ts';
import { ResponseTimeoutError, type RequestWatch, watchRequest } from './request-watch.ts';
import { parseResponse } from './server-responses.ts';

/** A request to the server. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Relative to the base URL, without a leading slash. */
  readonly path: string;
  /** A list is a parameter that is repeated. */
  readonly params?: Readonly<Record<string, string | readonly string[]>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text, or chunks that are streamed with backpressure and never held in memory as a whole. */
  readonly body?: string | AsyncIterable<Uint8Array>;
  /** Whether an interrupted request may still have changed something. Default: no. */
  readonly isAction?: boolean;
  /** Whether the response may be long: the timeout then covers only its head. Default: no. */
  readonly isLong?: boolean;
  /** The checks of a 2xx response. Default: the status is 200. */
  readonly expects?: ExpectedResponse;
  /** The SQL of the request, to show the position of an error. */
  readonly sql?: string;
  /** Aborts only this request. */
  readonly signal?: AbortSignal;
}

/** A response that passed the checks. */
export interface ClientResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: AsyncIterable<Uint8Array>;
}

/** A client of one server. */
export interface Client {
  /** Sends the request once, without retries. Throws a `CliError` unless the response is the expected one. */
  send(request: Request): Promise<ClientResponse>;
}

/** Options of a client. */
export interface ClientOptions {
  /** The base URL, without a trailing slash. */
  readonly url: string;
  /** Sent with every request. Default: none. */
  readonly token?: string;
  /** Aborts all requests in flight. */
  readonly signal: AbortSignal;
  /** Width of the terminal that shows errors, in columns. */
  readonly errorWidth: number;
  /** How long a response may take after the request is sent. Default: five minutes until it starts, as in Node. */
  readonly timeoutMs?: number;
  /** The name of the server in errors. Default: its URL. */
  readonly name?: string;
  /** Default: that of Node. */
  readonly fetch?: typeof fetch;
}

const MAX_ERROR_BYTES = 1024 * 1024;

/** Creates a client of the server at a URL. */
export function createClient(options: ClientOptions): Client {
  const { url, token, signal, errorWidth, timeoutMs, name = url } = options;
  const fetchOnce: typeof fetch = (input, init) => (options.fetch ?? fetch)(input, init);
  // Over loopback, compression costs time and saves nothing.
  const isNear = isLoopback(new URL(url).hostname.replaceAll(/[[\]]/g, ''));
  const standing = {
    ...(isNear && { 'accept-encoding': 'identity' }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const http = createHttp({ prefixUrl: url, headers: standing });

  async function refusal(
    response: Response,
    { body }: ClientResponse,
    { sql, path }: { readonly sql: string | undefined; readonly path: string },
  ): Promise<CliError> {
    const { status, statusText } = response;
    const location = response.headers.get('location');
    if (location !== null) {
      return new CliError('refused', `The server answered ${status} with a redirect to ${JSON.stringify(location)}.`, {
        hint: 'Set --url to that address, without the path after the base.',
      });
    }
    const parsed = parseJson(await readText({ body }, MAX_ERROR_BYTES));
    return (
      refusalOf(parsed, { sql, width: errorWidth, kind: path.startsWith('frames') ? 'write' : 'read' }) ??
      new CliError('refused', `The server answered ${[status, statusText].join(' ').trim()}, without a reason.`, {
        hint: 'Check that --url or SVC_URL names a data-frame server, and its base path if it has one.',
      })
    );
  }

  return {
    async send({ method, path, params = {}, headers = {}, body, expects = {}, sql, ...sending }) {
      const { isAction = false, isLong = false } = sending;
      const signals = sending.signal === undefined ? [signal] : [signal, sending.signal];
      const watch = watchRequest({ url, signal: AbortSignal.any(signals), timeoutMs });
      const upload = typeof body === 'object' ? trackUpload(body, watch) : undefined;
      const fail = (error: unknown): CliError => connectionError(error, { url: name, isAction });
      const request = {
        method,
        headers,
        signal: watch.signal,
        ...(Object.keys(params).length > 0 && { searchParams: toSearchParams(params) }),
        ...(typeof body === 'string' && { body }),
      };
      if (upload === undefined) watch.startClock();
      let response: Response;
      try {
        const fetchWith = await http;
        response = await fetchWith(path, {
          ...request,
          fetch: upload ? fetchWithBody(fetchOnce, upload.chunks) : fetchOnce,
        });
      } catch (error) {
        watch.stopClock();
        throw upload?.failure() ?? fail(error);
      } finally {
        watch.headSettled();
      }
      const { status, ok, headers: received } = response;
      const result: ClientResponse = { status, headers: received, body: responseBody(response, watch, fail) };
      if (!ok) throw await refusal(response, result, { sql, path });
      if (isLong || response.body === null) watch.stopClock();
      checkResponse(response, expects);
      return result;
    },
  };
}

/** Imports ky lazily: it makes Node load all of fetch, which takes as long as the rest of the program. */
async function createHttp(options: Options): Promise<KyInstance> {
  const { default: ky } = await import('ky');
  return ky.create({ ...options, retry: 0, timeout: false, throwHttpErrors: false, redirect: 'manual' });
}

function toSearchParams(params: NonNullable<Request['params']>): URLSearchParams {
  return new URLSearchParams(
    Object.entries(params).flatMap(([name, value]) =>
      (typeof value === 'string' ? [value] : value).map((text): [string, string] => [name, text]),
    ),
  );
}

/** Reads the body of a response as text, up to `maxBytes`. */
export async function readText({ body }: Pick<ClientResponse, 'body'>, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) break;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Reads the body of a response as JSON and validates it. */
export async function readResponse<T>(
  response: Pick<ClientResponse, 'body'>,
  schema: GenericSchema<unknown, T>,
  maxBytes: number,
): Promise<T> {
  const value = parseJson(await readText(response, maxBytes));
  if (value === undefined) throw invalidResponse('it is not JSON');
  return parseResponse(schema, value);
}

/**
 * Streams a body without buffering it. ky would keep a copy for retries, and fetch would keep one for redirects unless
 * these are errors and there is no window.
 */
function fetchWithBody(send: typeof fetch, body: AsyncIterable<Uint8Array>): typeof fetch {
  return (input, init) => send(input, { ...init, body, duplex: 'half', redirect: 'error', window: null });
}

/**
 * Remembers an error of the source of an upload: fetch would report it as a network error. The timeout starts when the
 * upload is complete.
 */
function trackUpload(
  source: AsyncIterable<Uint8Array>,
  watch: RequestWatch,
): {
  readonly chunks: AsyncIterable<Uint8Array>;
  failure(): CliError | undefined;
} {
  let failure: CliError | undefined;
  async function* read(): AsyncGenerator<Uint8Array> {
    try {
      yield* source;
      watch.startClock();
    } catch (error) {
      if (error instanceof CliError) failure = error;
      throw error;
    }
  }
  return { chunks: read(), failure: () => failure };
}

async function* responseBody(
  response: Response,
  watch: RequestWatch,
  fail: (error: unknown) => CliError,
): AsyncGenerator<Uint8Array> {
  const { signal } = watch;
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = response.body?.getReader();
  const cancel = (): void => void reader?.cancel().catch(() => undefined);
  // In Node 20 reading a response does not retain its request; once collected, the request ignores its signal.
  signal.addEventListener('abort', cancel, { once: true });
  try {
    for (;;) {
      const next = await reader?.read();
      signal.throwIfAborted();
      if (next?.value === undefined) return;
      yield next.value;
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    // Only for a response of this process; a broken connection does not carry the reason.
    if (error instanceof ServiceError) throw new CliError('refused', error.message, { hint: error.hint });
    throw error instanceof ResponseTimeoutError ? fail(error) : incompleteResponse();
  } finally {
    signal.removeEventListener('abort', cancel);
    watch.stopClock();
    cancel();
  }
}
