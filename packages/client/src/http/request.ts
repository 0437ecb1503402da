import type { RequestBody } from './request-body.ts';
import type { ByteStream } from './response-body.ts';

type Parameter = string | number | boolean | undefined;

/** A request to the server. */
export interface ClientRequest {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path without the slash at its beginning: `frames/trades`. */
  readonly path: string;
  /** A list is a parameter that is repeated; what is undefined is left out. */
  readonly params?: Readonly<Record<string, Parameter | readonly Parameter[]>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: RequestBody;
  readonly signal?: AbortSignal | undefined;
  /** The `x-request-id`. Default: a new one. */
  readonly requestId?: string | undefined;
  /**
   * When it may be sent again: `read` if it failed, because it changes nothing; `conditional` likewise, because its condition
   * excludes that it is taken twice; `write` only if it was refused for now (429); `never`. Default: `read` for GET and HEAD,
   * else `write`.
   */
  readonly repeat?: 'read' | 'conditional' | 'write' | 'never' | undefined;
  /** Called if the request is aborted, by its signal or because the server is silent, before the response is read. */
  readonly onAbort?: () => void;
  /** Returns a response of any status, instead of throwing for one that is not 2xx. Default: no. */
  readonly isAnyStatus?: boolean;
}

/** A response. */
export interface ClientResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly requestId: string;
  /** Its bytes, to be read once. Not reading them to the end closes the connection. */
  readonly body: ByteStream;
}

/** Sends requests to one server. */
export interface Transport {
  /** Throws a `ClientError`, or the reason of an aborted signal. */
  send(request: ClientRequest): Promise<ClientResponse>;
}
