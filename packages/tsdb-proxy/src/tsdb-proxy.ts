import type { Call } from '@svc/frames';

/** What to forward: a path of the database and the parameters, in order, unchanged and unchecked. */
export interface TsdbRequest {
  readonly path: '/exec' | '/exp' | '/chk';
  readonly params: readonly (readonly [name: string, value: string])[];
}

/** The database's answer, byte for byte. */
export interface TsdbResponse {
  readonly status: number;
  /**
   * What may be passed on, by name in small letters: no hop-by-hop headers, no cookies, no `Server`. Whoever got it may
   * add to it.
   */
  readonly headers: Record<string, string>;
  /**
   * Ends with a `ServiceError` when the database breaks off: a cut answer never looks complete. `null` where the status
   * allows no body (204), as in `new Response(body, { status })`. Whoever got it reads it to its end or cancels it.
   */
  readonly body: ReadableStream<Uint8Array> | null;
  /**
   * The same body chunk by chunk, instead of `body`, for who writes it on at once: a chunk is good only until the next
   * one is asked for, because its memory is used again, and one is asked for at a time. There unless `bytes` is, or
   * `body` is null.
   */
  readonly chunks?: AsyncIterator<Uint8Array, void>;
  /** The same body at once, where all of it came together with the head: `body` need not be read then. */
  readonly bytes?: Uint8Array;
}

/** Forwards SQL to the external time-series database. */
export interface TsdbProxy {
  /**
   * Sends one GET and gives the answer as soon as its head is there. Fails with a `ServiceError`; with a
   * `TsdbCredentialsError` when the database refuses the credentials of this server.
   */
  forward(call: Call, request: TsdbRequest): Promise<TsdbResponse>;
  /** Ends every connection at once. What still runs, and every later `forward`, fails with `unavailable`. */
  close(): Promise<void>;
}
