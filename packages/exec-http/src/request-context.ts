import type { ServiceError } from '@svc/errors';
import type { ResultFormat, UploadFormat } from '@svc/frames';
import type { Observer } from '@svc/service';
import { OTHER_ROUTE } from '@svc/service/internal';
import type { Context } from 'hono';
import type { HttpCall, NodeBindings } from './http-call.ts';
import type { RequestGuard } from './request-guard.ts';

/** The Hono environment of the endpoints. */
export interface ExecEnv {
  Bindings: NodeBindings;
}

/** Dependencies of a request. */
export interface RequestParts {
  readonly observe: Observer;
  readonly guard: RequestGuard;
  /** The path with its parameters in braces. Default: the request matches no path. */
  readonly route?: string | undefined;
}

/**
 * One request in flight; reports its start and its end. A class, because closures for each request cost more than a short
 * response.
 */
export class RequestContext {
  readonly c: Context<ExecEnv>;
  readonly call: HttpCall;
  readonly guard: RequestGuard;
  /** Bytes of the request body that were read. */
  requestBytes = 0;
  /** The rows in the request or the response, if they are known. */
  rows: number | undefined;
  /** The format of those rows. */
  format: ResultFormat | UploadFormat | undefined;
  /** Called when the end is reported. */
  onReported: (() => void) | undefined;
  readonly #observe: Observer;
  readonly #route: string;
  readonly #startMs = performance.now();
  #firstByteMs: number | undefined;
  #responseBytes = 0;
  #isReported = false;

  constructor(c: Context<ExecEnv>, call: HttpCall, { observe, guard, route = OTHER_ROUTE }: RequestParts) {
    this.c = c;
    this.call = call;
    this.guard = guard;
    this.#observe = observe;
    this.#route = route;
    observe({ kind: 'request_started', requestId: call.requestId, protocol: 'http' });
  }

  /** Counts bytes of the response body, as they are sent. */
  sent(bytes: number): void {
    this.#firstByteMs ??= performance.now() - this.#startMs;
    this.#responseBytes += bytes;
  }

  /** Reports how the request ended; only the first report counts. `bytes`: the length of a body that is sent at once. */
  report(status: number, error?: ServiceError, bytes = 0): void {
    if (this.#isReported) return;
    this.#isReported = true;
    this.onReported?.();
    const { call } = this;
    const { method } = this.c.req;
    const isHead = method === 'HEAD';
    const durationMs = performance.now() - this.#startMs;
    this.#observe({
      kind: 'request_answered',
      requestId: call.requestId,
      tenant: call.tenant,
      caller: call.caller?.id,
      protocol: 'http',
      route: this.#route,
      method,
      status,
      durationMs,
      firstByteMs: this.#firstByteMs ?? durationMs,
      requestBytes: this.requestBytes,
      responseBytes: isHead ? 0 : this.#responseBytes + bytes,
      rows: isHead || error !== undefined ? undefined : this.rows,
      format: this.format,
      error,
      details: call,
      trace: call.trace,
    });
  }
}
