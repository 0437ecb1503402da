import { ClientError, type ClientResponse as SentResponse, createTransport } from '@svc/client/internal';
import { isLoopback } from '@svc/config';
import { ServiceError } from '@svc/errors';
import type { GenericSchema } from 'valibot';
import { CliError, incompleteResponse, invalidResponse } from '../errors/cli-error.ts';
import { parseJson } from '../text/parse-json.ts';
import { connectionError } from './connection-error.ts';
import { refusalOf } from './refusal.ts';
import { type RequestWatch, ResponseTimeoutError, watchRequest } from './request-watch.ts';
import { parseResponse } from './server-responses.ts';

/** A request to the server. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
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
/** A short line that a terminal can show as it is. */
const LINE = /^[\x20-\x7e]{1,500}\r?\n?$/;

/** Creates a client of the server at a URL. */
export function createClient(options: ClientOptions): Client {
  const { url, token, signal, errorWidth, timeoutMs, name = url } = options;
  // Over loopback, compression costs time and saves nothing.
  const isNear = isLoopback(new URL(url).hostname.replaceAll(/[[\]]/g, ''));
  const http = createTransport({
    url,
    token,
    headers: isNear ? { 'accept-encoding': 'identity' } : {},
    fetch: createKyFetch((input, init) => (options.fetch ?? fetch)(input, init)),
    // A command sends its request once; `watchRequest` has the timeout.
    retries: 0,
    timeoutMs: Infinity,
  });

  async function refusal(
    { status, statusText, headers, body }: ClientResponse & Pick<SentResponse, 'statusText'>,
    { sql, path }: { readonly sql: string | undefined; readonly path: string },
  ): Promise<CliError> {
    const location = headers.get('location');
    if (location !== null) {
      return new CliError('refused', `The server answered ${status} with a redirect to ${JSON.stringify(location)}.`, {
        hint: 'Set --url to that address, without the path after the base.',
      });
    }
    const text = await readText({ body }, MAX_ERROR_BYTES);
    const refused = refusalOf(parseJson(text), {
      sql,
      width: errorWidth,
      kind: path.startsWith('frames') ? 'write' : 'read',
    });
    if (refused !== undefined) return refused;
    const isLine = headers.get('content-type')?.startsWith('text/plain') === true && LINE.test(text);
    const reason = isLine ? `: ${text.trim()}` : ', without a reason.';
    return new CliError('refused', `The server answered ${[status, statusText].join(' ').trim()}${reason}`, {
      hint: 'Check that --url or SVC_URL names a data-frame server, and its base path if it has one.',
    });
  }

  return {
    async send({ body, expects = {}, sql, isAction = false, isLong = false, ...request }) {
      const signals = request.signal === undefined ? [signal] : [signal, request.signal];
      const watch = watchRequest({ url, signal: AbortSignal.any(signals), timeoutMs });
      const fail = (error: unknown): CliError => connectionError(causeOf(error), { url: name, isAction });
      const isUpload = typeof body === 'object';
      if (!isUpload) watch.startClock();
      let sent: SentResponse;
      try {
        sent = await http.send({
          ...request,
          ...(body !== undefined && { body: isUpload ? startingClock(body, watch) : body }),
          signal: watch.signal,
          repeat: 'never',
          accept: 'any',
        });
      } catch (error) {
        watch.stopClock();
        throw error instanceof CliError ? error : fail(error);
      } finally {
        watch.headSettled();
      }
      const { status, headers } = sent;
      const response: ClientResponse = { status, headers, body: responseBody(sent, watch, fail) };
      if (status < 200 || status > 299)
        throw await refusal({ ...response, statusText: sent.statusText }, { sql, path: request.path });
      // A response without a body is complete.
      if (isLong || status === 204) watch.stopClock();
      checkResponse(response, expects);
      return response;
    },
  };
}

/** The error behind that of the transport. */
function causeOf(error: unknown): unknown {
  return error instanceof ClientError ? error.cause : error;
}

/**
 * Returns ky as a `fetch`. Imported lazily: it makes Node load all of fetch, which takes as long as the rest of the program.
 * The body goes past it: ky would keep a copy for retries.
 */
function createKyFetch(send: typeof fetch): typeof fetch {
  const http = import('ky').then(({ default: ky }) => ky.create({ retry: 0, timeout: false, throwHttpErrors: false }));
  return async (input, { body, ...init } = {}) => {
    const withBody: typeof fetch = (request, rest) => send(request, body ? { ...init, ...rest, body } : rest);
    return (await http)(input instanceof Request ? input : String(input), { ...init, fetch: withBody });
  };
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

/** Starts the timeout when an upload is complete. */
async function* startingClock(source: AsyncIterable<Uint8Array>, watch: RequestWatch): AsyncGenerator<Uint8Array> {
  yield* source;
  watch.startClock();
}

async function* responseBody(
  { body }: SentResponse,
  watch: RequestWatch,
  fail: (error: unknown) => CliError,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (thrown) {
    const error = causeOf(thrown);
    if (error instanceof CliError) throw error;
    // Only for a response of this process; a broken connection does not carry the reason.
    if (error instanceof ServiceError) throw new CliError('refused', error.message, { hint: error.hint });
    throw error instanceof ResponseTimeoutError ? fail(error) : incompleteResponse();
  } finally {
    watch.stopClock();
  }
}

/** The checks that a response must pass before it is used. */
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
