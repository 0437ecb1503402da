import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { readBody } from '@svc/client/internal';
import { isLoopback } from '@svc/config';
import { ServiceError } from '@svc/errors';
import type { HTTPError, KyInstance, RetryOptions } from 'ky';
import * as v from 'valibot';
import { CliError, incompleteResponse, invalidResponse } from '../errors.ts';
import { parseJson } from '../text.ts';
import { connectionError, refusalOf, ResponseTimeoutError } from './request-errors.ts';
import { parseResponse } from './server-responses.ts';

/** A request to the server. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to the base URL, without a leading slash. */
  readonly path: string;
  /** A list is a repeated parameter. */
  readonly params?: Readonly<Record<string, string | readonly string[]>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text, or streamed chunks: they are never in memory as a whole. */
  readonly body?: string | AsyncIterable<Uint8Array>;
  /** The request may change something, so it is sent only once. Default: no. */
  readonly isAction?: boolean;
  /** The response may be long: the timeout then covers only its head. Default: no. */
  readonly isLong?: boolean;
  /** The checks of a 2xx response. Default: the status is 200. */
  readonly expects?: ExpectedResponse;
  /** The SQL of the request, to show the position of an error. */
  readonly sql?: string;
  /** Aborts only this request. */
  readonly signal?: AbortSignal;
}

/** A response after all checks. */
export interface ClientResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: AsyncIterable<Uint8Array>;
}

/** A client of one server. */
export interface Client {
  /** Sends a request. Throws a `CliError` unless the response is the expected one. */
  send(request: Request): Promise<ClientResponse>;
}

/** What a client needs for TLS, in PEM. */
export interface ClientTls {
  /** The authorities to trust. Default: those of Node. */
  readonly ca?: string;
  /** The certificate to show, and its key. Default: none. */
  readonly cert?: string;
  readonly key?: string;
}

/** Options of a client. */
export interface ClientOptions {
  /** The base URL, without a trailing slash. */
  readonly url: string;
  /** Sent with every request. Default: none. */
  readonly token?: string;
  /** Default: TLS as in Node. */
  readonly tls?: ClientTls;
  /** Aborts all requests in flight. */
  readonly signal: AbortSignal;
  /** Width of the terminal for errors, in columns. */
  readonly errorWidth: number;
  /** How long a response may take after the request is sent. Default: five minutes until it starts, as in Node. */
  readonly timeoutMs?: number;
  /** The name of the server in errors. Default: its URL. */
  readonly name?: string;
  /** Default: the `fetch` of Node. */
  readonly fetch?: typeof fetch;
}

const MAX_ERROR_BYTES = 1024 * 1024;
/** A short line, safe for a terminal. */
const LINE = /^[\x20-\x7e]{1,500}\r?\n?$/;

/** A longer wait is left to the user. */
const MAX_RETRY_AFTER_SECONDS = 10;

/** Repeats a read when the server asks for it. Nothing else is sent twice. */
const RETRY: RetryOptions = {
  limit: 2,
  methods: ['get'],
  statusCodes: [429, 503],
  afterStatusCodes: [429, 503],
};

/** The retries of a request. A wait that would outlast the timeout is left to the user, too. */
function retryWithin(msLeft: () => number): RetryOptions {
  return {
    ...RETRY,
    shouldRetry({ error }) {
      if (!isHttpError(error)) return false;
      const seconds = Number(error.response.headers.get('retry-after') ?? NaN);
      return seconds <= MAX_RETRY_AFTER_SECONDS && seconds * 1000 < msLeft() ? undefined : false;
    },
  };
}

/** Creates a client of the server at a URL. */
export function createClient(options: ClientOptions): Client {
  const { url, signal, errorWidth, timeoutMs, name = url } = options;
  const send = fetchOf(options);
  const http = createHttp(options, send);

  async function refusal(
    { status, statusText, headers }: Response,
    body: AsyncIterable<Uint8Array>,
    request: Request,
  ): Promise<CliError> {
    const location = headers.get('location');
    if (location !== null) {
      return new CliError('refused', `The server answered ${status} with a redirect to ${JSON.stringify(location)}.`, {
        hint: 'Set --url to that address, without the path after the base.',
      });
    }
    const text = await readText({ body }, MAX_ERROR_BYTES);
    const kind = request.path.startsWith('frames') ? 'write' : 'read';
    const refused = refusalOf(parseJson(text), { sql: request.sql, width: errorWidth, kind });
    if (refused !== undefined) return refused;
    const isLine = headers.get('content-type')?.startsWith('text/plain') === true && LINE.test(text);
    const reason = isLine ? `: ${text.trim()}` : ', without a reason.';
    return new CliError('refused', `The server answered ${[status, statusText].join(' ').trim()}${reason}`, {
      hint: 'Check that --url or SVC_URL names a data-frame server, and its base path if it has one.',
    });
  }

  return {
    async send(request) {
      const { method, path, headers, body, isAction = false, isLong = false, expects = {} } = request;
      const watch = watchRequest(url, request.signal === undefined ? [signal] : [signal, request.signal], timeoutMs);
      const upload = typeof body === 'object' ? createUpload(body, watch, send) : undefined;
      const fail = (error: unknown): CliError => connectionError(error, { url: name, isAction });
      if (upload === undefined) watch.startClock();
      try {
        const response = await (
          await http
        )(path, {
          method,
          searchParams: pairsOf(request.params),
          ...(headers && { headers }),
          ...(typeof body === 'string' && { body }),
          ...(upload && { fetch: upload.fetch }),
          retry: isAction ? 0 : retryWithin(watch.msLeft),
          signal: watch.signal,
        });
        // A response without a body is complete.
        if (isLong || response.status === 204) watch.stopClock();
        const checked = { status: response.status, headers: response.headers };
        checkResponse(checked, expects);
        return { ...checked, body: responseBody(response, watch, fail) };
      } catch (error) {
        if (isHttpError(error)) {
          const { response } = error;
          throw await refusal(response, responseBody(response, watch, fail), request).finally(watch.stopClock);
        }
        watch.stopClock();
        throw error instanceof CliError ? error : (upload?.sourceError() ?? fail(error));
      } finally {
        watch.headSettled();
      }
    },
  };
}

/** Returns the fetch of a client. Without TLS of its own, that of Node needs no agent. */
function fetchOf({ tls, fetch: send = fetch }: ClientOptions): typeof fetch {
  if (tls === undefined) return send;
  const dispatcher = import('undici').then(({ Agent }) => new Agent({ connect: { ...tls } }));
  // `assign`, because the types of Node's own undici differ in details.
  return async (input, init) => send(input, Object.assign({ ...init }, { dispatcher: await dispatcher }));
}

/** Not part of the call of ky: the types of Node's own undici lack it. */
const UNCACHED = { cache: 'no-store' } as const;

/** Imports ky lazily: it makes Node load all of fetch, and takes as long as the rest of the program. */
async function createHttp({ url, token }: ClientOptions, send: typeof fetch): Promise<KyInstance> {
  const { default: ky } = await import('ky');
  // Over loopback, compression costs time and saves nothing.
  const isNear = isLoopback(new URL(url).hostname.replaceAll(/[[\]]/g, ''));
  return ky.create({
    prefixUrl: url,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(isNear && { 'accept-encoding': 'identity' }),
    },
    // A token must not follow a redirect.
    redirect: 'manual',
    ...UNCACHED,
    // It would count the time of an upload, but not that of a body: `watchRequest` has the timeout.
    timeout: false,
    fetch: send,
  });
}

function isHttpError(error: unknown): error is HTTPError {
  return error instanceof Error && error.name === 'HTTPError' && 'response' in error;
}

function pairsOf(params: Request['params'] = {}): string[][] {
  return Object.entries(params).flatMap(([name, value]) => [value].flat().map((text) => [name, text]));
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
  schema: v.GenericSchema<unknown, T>,
  maxBytes: number,
): Promise<T> {
  const value = parseJson(await readText(response, maxBytes));
  if (value === undefined) throw invalidResponse('it is not JSON');
  return parseResponse(schema, value);
}

/** Sends an upload past ky, to avoid its copy for a retry. The timeout starts when the server has all of it. */
function createUpload(source: AsyncIterable<Uint8Array>, watch: RequestWatch, send: typeof fetch) {
  let failure: Error | undefined;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of source) {
        yield chunk;
        // Node goes on reading the source of an aborted request.
        if (watch.signal.aborted) return;
      }
      watch.startClock();
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      throw error;
    }
  }
  // Node keeps all bytes for a redirect unless redirects are errors.
  const once = { duplex: 'half', redirect: 'error', window: null } as const;
  const sendUpload: typeof fetch = (request, init) =>
    send(request, { ...init, ...once, body: ReadableStream.from(chunks()) });
  return { fetch: sendUpload, sourceError: () => failure };
}

async function* responseBody(
  { body }: Response,
  watch: RequestWatch,
  fail: (error: unknown) => CliError,
): AsyncGenerator<Uint8Array> {
  try {
    yield* readBody(body, watch.signal, (error) => {
      if (error instanceof CliError) return error;
      // Only for a response of this process; a broken connection does not carry the reason.
      if (error instanceof ServiceError) return new CliError('refused', error.message, { hint: error.hint });
      return error instanceof ResponseTimeoutError ? fail(error) : incompleteResponse();
    });
  } finally {
    watch.stopClock();
  }
}

/** The checks of a response before it is used. */
interface ExpectedResponse {
  /** Default: only 200. */
  readonly statuses?: readonly number[];
  /** The content type; only its media type counts. Omitted if the reader of the body checks it anyway. */
  readonly contentType?: string;
}

/** Refuses a successful response of the wrong kind, such as the HTML page of a proxy. */
function checkResponse(
  { status, headers }: { readonly status: number; readonly headers: Headers },
  { statuses = [200], contentType }: ExpectedResponse,
): void {
  if (!statuses.includes(status)) throw invalidResponse(`its status is ${status}, not ${statuses.join(' or ')}`);
  if (contentType === undefined) return;
  const expected = mediaType(contentType);
  const actual = mediaType(headers.get('content-type') ?? '');
  if (actual === expected) return;
  throw invalidResponse(
    actual === '' ? `it has no content type, and should be ${expected}` : `it is ${actual}, not ${expected}`,
  );
}

function mediaType(contentType: string): string {
  return contentType
    .replace(/;[^]*$/, '')
    .trim()
    .toLowerCase();
}

/** Aborts a request instead of waiting forever. */
interface RequestWatch {
  /** Aborted by the user, by the timeout, and by a connection that closed unnoticed. */
  readonly signal: AbortSignal;
  startClock(): void;
  readonly stopClock: () => void;
  /** The time until the timeout. */
  readonly msLeft: () => number;
  /** Must be called when the head of the response has arrived, or has failed to. */
  headSettled(): void;
}

const CONNECTED = 'undici:client:connected';
const CONNECTION = v.object({ connectParams: v.object({ host: v.string() }), socket: v.instance(Socket) });

/** Starts to watch a request, before it is sent. */
function watchRequest(url: string, signals: readonly AbortSignal[], timeoutMs: number | undefined): RequestWatch {
  const { host } = new URL(url);
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let endMs = Infinity;
  // In Node 20 fetch loads its HTTP parser after its first connection opens, and only then listens to it. If the
  // connection closes before that, the promise of fetch never settles.
  const onConnected = (message: unknown): void => {
    if (!v.is(CONNECTION, message) || message.connectParams.host !== host || !message.socket.destroyed) return;
    controller.abort(Object.assign(new Error('closed'), { code: 'UND_ERR_SOCKET' }));
  };
  subscribe(CONNECTED, onConnected);
  return {
    signal: AbortSignal.any([...signals, controller.signal]),
    startClock() {
      if (timeoutMs === undefined) return;
      endMs = performance.now() + timeoutMs;
      timer = setTimeout(() => controller.abort(new ResponseTimeoutError(timeoutMs)), timeoutMs);
      // The connection keeps the process alive; without one there is nothing to wait for.
      timer.unref();
    },
    stopClock: () => clearTimeout(timer),
    msLeft: () => endMs - performance.now(),
    headSettled: () => void unsubscribe(CONNECTED, onConnected),
  };
}

/**
 * Returns a signal for the given one and a timeout. `AbortSignal.timeout` does not work here: `AbortSignal.any` does
 * not retain it, so it is garbage-collected together with its timer.
 */
export function withTimeout(signal: AbortSignal, ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new DOMException('Timed out.', 'TimeoutError')), ms).unref();
  return AbortSignal.any([signal, controller.signal]);
}
