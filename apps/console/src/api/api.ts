import {
  addressOf,
  ClientError,
  type Column,
  errorOf,
  isAccepted,
  sendOnce,
  type ServerInfo as Info,
  type SingleRequest,
  type Transport,
} from '@svc/client/internal';

/** A request to the server's API. */
export type ApiRequest = SingleRequest;

/** The server's API, as the console calls it: each request is sent once, and what fails is shown at its place. */
export interface Api extends Transport<ApiRequest> {
  /** The address of a path, for links in the page. */
  url(path: string, params?: ApiRequest['params']): string;
  /** Sets the token of the following requests; undefined: none. It is only in memory. */
  setToken(token: string | undefined): void;
  hasToken(): boolean;
  /** The same API, whose requests are sent by another `fetch`. */
  by(send: typeof fetch): Transport<ApiRequest>;
}

/** Called with what each request found: the app shows a banner, or asks for a token. */
export interface ApiObserver {
  /** Called with the time at the server, in milliseconds since 1970, if it said it. */
  readonly answered: (serverMs?: number) => void;
  readonly gone: () => void;
  readonly unauthenticated: (error: ClientError) => void;
}

/** Creates the API at an address. `fetch` is the browser's. */
export function createApi(base: URL, observer: ApiObserver, fetch: typeof globalThis.fetch): Api {
  let token: string | undefined;
  const url = base.href.replace(/\/$/, '');
  const by: Api['by'] = (send) => ({
    async send(request) {
      const response = await sendOnce({ url, token, fetch: send }, request).catch((error: unknown) => {
        // An aborted request throws its reason.
        if (error instanceof ClientError) observer.gone();
        throw error;
      });
      const serverMs = Date.parse(response.headers.get('date') ?? '');
      observer.answered(Number.isNaN(serverMs) ? undefined : serverMs);
      if (isAccepted(response, request)) return response;
      const error = await errorOf(response);
      if (response.status === 401) observer.unauthenticated(error);
      throw error;
    },
  });
  return {
    ...by(fetch),
    by,
    url: (path, params) => addressOf(url, { path, params }),
    setToken: (value) => (token = value),
    hasToken: () => token !== undefined,
  };
}

/** True if the server refused the request. */
export function isRefusal(error: unknown): error is ClientError & { readonly status: number } {
  return error instanceof ClientError && (error.status ?? 0) >= 400;
}

/** Longer waits are cut: a user who does nothing sees the server again. */
const MAX_WAIT_MS = 300_000;

/** Returns how long a busy server asked to be left alone. */
export function askedMs(error: unknown): number {
  return Math.min((error instanceof ClientError && error.retryAfterMs) || 0, MAX_WAIT_MS);
}

/** Valid names of frames. */
export const HANDLE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export type { EngineName, FrameInfo, ListedFrame } from '@svc/client/internal';

/** A column of a frame or of an answer, with the server's name of its type: `LONG`, `DECIMAL(10,2)`, `TIMESTAMP`. */
export type ColumnInfo = Column;

/** What the server can do: `GET /info`. */
export interface ServerInfo extends Info {
  /** What the server wants of its console. */
  readonly console?: { readonly keepsHistory: boolean };
}

/** Returns what was thrown as an error: anything can be thrown. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
