import { ApiError, ServerGone } from './api-error.ts';
import { uniqueId } from './unique-id.ts';

/** A request to the server's API. */
export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The parameters of the query string; those that are undefined are left out. */
  readonly params?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: BodyInit;
  readonly signal?: AbortSignal;
  /** The id of the request, to find it in `/queries`. Default: a new one. */
  readonly requestId?: string;
  /** A status of 400 or more that is returned instead of thrown. */
  readonly accept?: readonly number[];
}

/** The server's API, as the console calls it. */
export interface Api {
  /** Sends a request. Throws an `ApiError` for a status of 400 or more, a `ServerGone` if there is no answer. */
  request(path: string, request?: ApiRequest): Promise<Response>;
  /** The address of a path, for links that the browser follows. */
  url(path: string, params?: ApiRequest['params']): string;
  /** Sets the token of the following requests; undefined: none. It is only in memory. */
  setToken(token: string | undefined): void;
  /** The headers with the token, for requests that are not sent by `request` (uploads with progress). */
  authorization(): Readonly<Record<string, string>>;
}

/** Called with what each request found: the app shows a banner, or asks for a token. */
export interface ApiObserver {
  /** Called with the time at the server, in milliseconds since 1970, if it said it. */
  readonly answered: (serverMs?: number) => void;
  readonly gone: () => void;
  readonly unauthenticated: (error: ApiError) => void;
}

/** Creates the API at an address. `send` is `fetch`. */
export function createApi(base: URL, observer: ApiObserver, send: typeof fetch): Api {
  let token: string | undefined;
  const url: Api['url'] = (path, params = {}) => {
    const target = new URL(`.${path}`, base);
    for (const [name, value] of Object.entries(params)) {
      if (value !== undefined) target.searchParams.set(name, String(value));
    }
    return target.href;
  };
  const authorization = (): Readonly<Record<string, string>> => (token ? { authorization: `Bearer ${token}` } : {});
  return {
    url,
    authorization,
    setToken: (value) => (token = value),
    async request(path, { method = 'GET', params, headers, body, signal, requestId, accept = [] } = {}) {
      const sent = { ...authorization(), 'x-request-id': requestId ?? uniqueId(), ...headers };
      const init: RequestInit = { method, headers: sent, cache: 'no-store', redirect: 'error' };
      if (body !== undefined) init.body = body;
      if (signal !== undefined) init.signal = signal;
      const response = await send(url(path, params), init).catch((error: unknown) => {
        if (signal?.aborted) throw error;
        observer.gone();
        throw new ServerGone('The server does not answer.', { cause: error });
      });
      observer.answered(timeOf(response));
      if (response.status < 400 || accept.includes(response.status)) return response;
      const error = await errorFrom(response);
      if (response.status === 401) observer.unauthenticated(error);
      throw error;
    },
  };
}

/** The time at which the server answered. */
function timeOf({ headers }: Response): number | undefined {
  const timeMs = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

/** Reads the error of a response; one that is not of this server has only its status. */
async function errorFrom(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  const { headers, status } = response;
  return errorFromText(status, text, headers.get('x-request-id') ?? undefined, Number(headers.get('retry-after')));
}

/** Longer waits are cut: a user who does nothing sees the server again. */
const MAX_RETRY_AFTER_SECONDS = 300;

/** Returns the error in the text of a response. `retryAfter` is the number of seconds in its header. */
export function errorFromText(status: number, text: string, requestId?: string, retryAfter?: number): ApiError {
  const fields = parsedObject(text);
  const textOf = (name: string): string | undefined => {
    const value = fields[name];
    return typeof value === 'string' ? value : undefined;
  };
  const { position } = fields;
  return new ApiError(textOf('error') ?? `The server answered with status ${status}.`, {
    code: textOf('code') ?? `http_${status}`,
    status,
    hint: textOf('hint'),
    position: typeof position === 'number' ? position : undefined,
    requestId: textOf('requestId') ?? requestId,
    ...(retryAfter && { retryAfterMs: Math.min(retryAfter, MAX_RETRY_AFTER_SECONDS) * 1000 }),
  });
}

function parsedObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
