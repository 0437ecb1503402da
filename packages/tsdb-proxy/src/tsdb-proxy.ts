import type { Call } from '@svc/frames';

/** The request to forward: a path of the database, and parameters, sent in order, unchanged and unchecked. */
export interface TsdbRequest {
  readonly path: '/exec' | '/exp' | '/chk';
  readonly params: readonly (readonly [name: string, value: string])[];
}

/** Any other request to forward: its method, target and body are sent unchanged. */
export interface TsdbPassRequest {
  readonly method: string;
  /** The path with the encoded query string, below the URL of the database. */
  readonly target: string;
  /** The headers of the request, by lower-case name. Only those about its body and its result are sent. */
  readonly headers: Readonly<Record<string, string>>;
  /** Default: none. */
  readonly body?: AsyncIterable<Uint8Array>;
}

/** The response of the database, byte for byte. */
export interface TsdbResponse {
  readonly status: number;
  /**
   * The headers to forward, by lower-case name: no hop-by-hop headers, no cookies, no `Server`. The caller may
   * add headers.
   */
  readonly headers: Record<string, string>;
  /**
   * Fails with a `ServiceError` if the connection breaks: a truncated response never looks complete. `null` if there is none,
   * as for HEAD or 204. The caller must read it to the end or cancel it.
   */
  readonly body: ReadableStream<Uint8Array> | null;
  /**
   * The same body without copies; use it instead of `body`. Buffers are reused: each chunk is valid until the next
   * `next()`, and only one `next()` may be pending. Absent if `body` is null.
   */
  readonly chunks?: AsyncIterator<Uint8Array, void>;
}

/** Forwards SQL to the external time-series database. */
export interface TsdbProxy {
  /**
   * Sends one request, never twice, and resolves when the response headers have arrived. Fails with a `ServiceError`, and with a
   * `TsdbCredentialsError` if the database rejects the credentials of this server.
   */
  forward(call: Call, request: TsdbRequest | TsdbPassRequest): Promise<TsdbResponse>;
  /** The number of open connections, for metrics. Default: unknown. */
  readonly connections?: number;
  /** Closes every connection. Requests in flight and every later `forward` fail with `unavailable`. */
  close(): Promise<void>;
}
