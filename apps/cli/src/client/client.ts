import type { ReadableStreamDefaultReader } from 'node:stream/web';
import { isLoopback } from '@svc/config';
import { ServiceError } from '@svc/errors';
import type { KyInstance, Options } from 'ky';
import type { GenericSchema } from 'valibot';
import { checkResponse, type ExpectedResponse } from './check-response.ts';
import { CliError, incompleteResponse, invalidResponse } from '../errors/cli-error.ts';
import { connectionError } from './connection-error.ts';
import { refusalOf } from './refusal.ts';
import { ResponseTimeoutError, type RequestWatch, watchRequest } from './request-watch.ts';
import { parseResponse } from './server-responses.ts';

/** A request to the server. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Behind the base URL, without a slash at its beginning. */
  readonly path: string;
  /** A list is a parameter that is given several times. */
  readonly params?: Readonly<Record<string, string | readonly string[]>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text, or chunks that are read as the server takes them and never held whole. */
  readonly body?: string | AsyncIterable<Uint8Array>;
  /** Whether a request that was cut off may have changed something all the same. Default: no. */
  readonly isAction?: boolean;
  /** Whether the answer may be long: the timeout is then for its head alone. Default: no. */
  readonly isLong?: boolean;
  /** What an answer of 2xx must be. Default: one of 200. */
  readonly expects?: ExpectedResponse;
  /** The SQL it sends, to show where in it an error is. */
  readonly sql?: string;
  /** Ends this request alone. */
  readonly signal?: AbortSignal;
}

/** An answer as it was expected. */
export interface ClientResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Talks to one server. */
export interface Client {
  /** Sends one request, once. Whatever is not the answer it expects is a `CliError`. */
  send(request: Request): Promise<ClientResponse>;
}

/** What a client needs. */
export interface ClientOptions {
  /** The base URL, without a slash at its end. */
  readonly url: string;
  /** Ends what is running. */
  readonly signal: AbortSignal;
  /** Columns of the terminal errors are shown on. */
  readonly errorWidth: number;
  /** How long an answer may take, from when the request is sent. Default: five minutes until it begins, as Node has it. */
  readonly timeoutMs?: number;
  /** What errors call it. Default: its URL. */
  readonly name?: string;
  /** Sends a request and resolves to its answer. Default: that of Node. */
  readonly fetch?: typeof fetch;
}

const MAX_ERROR_BYTES = 1024 * 1024;

/** A client of the server at a URL. */
export function createClient({ url, signal, errorWidth, timeoutMs, name = url, ...options }: ClientOptions): Client {
  const fetchOnce: typeof fetch = (input, init) => (options.fetch ?? fetch)(input, init);
  // On the way to this machine itself compression costs time and saves nothing.
  const isNear = isLoopback(new URL(url).hostname.replaceAll(/[[\]]/g, ''));
  const http = createHttp({ prefixUrl: url, ...(isNear && { headers: { 'accept-encoding': 'identity' } }) });

  async function refusal(response: Response, { body }: ClientResponse, sql: string | undefined): Promise<CliError> {
    const { status, statusText } = response;
    const location = response.headers.get('location');
    if (location !== null) {
      return new CliError('refused', `The server answered ${status} and points to ${JSON.stringify(location)}.`, {
        hint: 'Give --url the address it points to, without the path behind the base.',
      });
    }
    const parsed = parseJson(await readText({ body }, MAX_ERROR_BYTES));
    return (
      refusalOf(parsed, { sql, width: errorWidth }) ??
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
      if (!ok) throw await refusal(response, result, sql);
      if (isLong || response.body === null) watch.stopClock();
      checkResponse(response, expects);
      return result;
    },
  };
}

/** Loaded only here: it has Node load all that belongs to fetch, which takes as long as the rest of the program. */
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

/** The body of an answer as text, at most so many bytes of it. */
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

/** The body of an answer, which is JSON, as what it should be. */
export async function readResponse<T>(
  response: Pick<ClientResponse, 'body'>,
  schema: GenericSchema<unknown, T>,
  maxBytes: number,
): Promise<T> {
  const value = parseJson(await readText(response, maxBytes));
  if (value === undefined) throw invalidResponse('it is not JSON');
  return parseResponse(schema, value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * ky keeps a copy of a body it is given, for retries, and fetch keeps one for redirects unless these are errors and there
 * is no window. Without the two a body is streamed and forgotten.
 */
function fetchWithBody(send: typeof fetch, body: AsyncIterable<Uint8Array>): typeof fetch {
  return (input, init) => send(input, { ...init, body, duplex: 'half', redirect: 'error', window: null });
}

/**
 * Remembers what the source of an upload failed with: fetch would report it as a failure of the network. The clock starts
 * when all is sent, however long that takes.
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
  // In Node 20 a request hears nothing any more once it is collected, and nobody holds it while its answer is read.
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
    // Only where the answer is made in this process; over a connection nobody hears why it broke.
    if (error instanceof ServiceError) throw new CliError('refused', error.message, { hint: error.hint });
    throw error instanceof ResponseTimeoutError ? fail(error) : incompleteResponse();
  } finally {
    signal.removeEventListener('abort', cancel);
    watch.stopClock();
    cancel();
  }
}
