import type { RequestBody, WholeBody } from './request-body.ts';
import type { ByteStream } from './response-body.ts';

type Parameter = string | number | boolean | undefined;

/** A request that is sent once. */
export interface SingleRequest {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path without the slash at its beginning: `frames/trades`. */
  readonly path: string;
  /** A list is a parameter that is repeated; what is undefined is left out. */
  readonly params?: Readonly<Record<string, Parameter | readonly Parameter[]>> | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: WholeBody | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The `x-request-id`. Default: a new one. */
  readonly requestId?: string | undefined;
  /** The statuses besides 2xx that are returned instead of thrown. Default: none. */
  readonly accept?: readonly number[] | 'any';
}

/** A request to the server. */
export interface ClientRequest extends Omit<SingleRequest, 'body'> {
  readonly body?: RequestBody | undefined;
  /**
   * When it may be sent again: `read` if it failed, because it changes nothing; `conditional` likewise, because its condition
   * excludes that it is taken twice; `write` only if it was refused for now (429); `never`. Default: `read` for GET and HEAD,
   * else `write`.
   */
  readonly repeat?: 'read' | 'conditional' | 'write' | 'never' | undefined;
  /** Called if the request is aborted, by its signal or because the server is silent, before the response is read. */
  readonly onAbort?: () => void;
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
export interface Transport<Request = ClientRequest> {
  /** Throws a `ClientError`, or the reason of an aborted signal. */
  readonly send: (request: Request) => Promise<ClientResponse>;
}
