import type { IncomingMessage, ServerResponse } from 'node:http';
import { onAbort, ServiceError } from '@svc/errors';
import {
  type Call,
  type Caller,
  type Client,
  continueTrace,
  DEFAULT_TENANT,
  type ResultFormat,
  type StartTrace,
  type TraceContext,
  type TraceHeaders,
  type UploadFormat,
} from '@svc/frames';
import type { Observer } from '@svc/service';
import { OTHER_ROUTE } from '@svc/service/internal';
import type { Context } from 'hono';
import type { RequestGuard } from './request-guard.ts';

/** The raw request and response; present only if the app runs on `@hono/node-server`. */
export interface NodeBindings {
  readonly incoming?: Pick<
    IncomingMessage,
    'complete' | 'headers' | 'httpVersion' | 'rawHeaders' | 'readableEnded' | 'socket' | 'url'
  > & {
    /** Calls the next handler, if the host is Express. */
    readonly next?: () => void;
  };
  readonly outgoing?: Pick<
    ServerResponse,
    | 'destroy'
    | 'destroyed'
    | 'end'
    | 'flushHeaders'
    | 'once'
    | 'setHeaders'
    | 'socket'
    | 'writableFinished'
    | 'write'
    | 'writeHead'
  >;
}

/** Creates the call of a request. It is cancelled when the client disconnects. Its signal is created on first use. */
export function createHttpCall(
  requestId: string,
  bindings: NodeBindings,
  request: Request,
  startTrace: StartTrace = continueTrace,
): HttpCall {
  const { incoming, outgoing } = bindings;
  const node = incoming === undefined || outgoing === undefined ? undefined : { incoming, outgoing };
  return new HttpCall(requestId, request, startTrace, node);
}

/** Longer paths are cut in the log. */
const MAX_PATH_LENGTH = 200;
/** Longer names of clients are cut in the log. */
const MAX_USER_AGENT_LENGTH = 200;

/** A class, because creating an object with getters for each request costs more than a short response. */
export class HttpCall implements Call {
  /** Set when the request is authenticated. */
  caller: Caller | undefined;
  readonly requestId: string;
  readonly #request: Request;
  readonly #node: Required<NodeBindings> | undefined;
  #signal: AbortSignal | undefined;
  /** Null until it is first read. */
  #trace: TraceContext | null | undefined = null;
  readonly #startTrace: StartTrace;

  constructor(requestId: string, request: Request, startTrace: StartTrace, node: Required<NodeBindings> | undefined) {
    this.requestId = requestId;
    this.#request = request;
    this.#startTrace = startTrace;
    this.#node = node;
  }

  get tenant(): string {
    return this.caller?.tenant ?? DEFAULT_TENANT;
  }

  get userAgent(): string | undefined {
    return this.#request.headers.get('user-agent')?.slice(0, MAX_USER_AGENT_LENGTH);
  }

  /** The method and path, for the log. */
  get operation(): string {
    const { method, url } = this.#request;
    return `${method} ${new URL(url).pathname.slice(0, MAX_PATH_LENGTH)}`;
  }

  get trace(): TraceContext | undefined {
    if (this.#trace === null) this.#trace = this.#startTrace(this.#node?.incoming.headers ?? this.#traceHeaders());
    return this.#trace;
  }

  get isCancelled(): boolean {
    if (this.#node === undefined) return this.#request.signal.aborted;
    return this.#node.incoming.socket.destroyed && !this.#node.outgoing.writableFinished;
  }

  get client(): Client | undefined {
    const { remoteAddress, remotePort } = this.#node?.incoming.socket ?? {};
    return remoteAddress === undefined ? undefined : { address: remoteAddress, connection: String(remotePort) };
  }

  get signal(): AbortSignal {
    return (this.#signal ??= this.#createSignal());
  }

  #traceHeaders(): TraceHeaders {
    const { headers } = this.#request;
    return { traceparent: headers.get('traceparent') ?? undefined, tracestate: headers.get('tracestate') ?? undefined };
  }

  /** Not the signal of the request: its reason has no error code. */
  #createSignal(): AbortSignal {
    const controller = new AbortController();
    const cancel = (): void => controller.abort(new ServiceError('cancelled', 'The client closed the connection.'));
    if (this.#node === undefined) onAbort(this.#request.signal, cancel);
    else if (this.isCancelled) cancel();
    else {
      const { outgoing } = this.#node;
      outgoing.once('close', () => {
        if (!outgoing.writableFinished) cancel();
      });
    }
    return controller.signal;
  }
}

/** The Hono environment of the endpoints. */
export interface ExecEnv {
  Bindings: NodeBindings;
}

/**
 * One request in flight; reports its start and its end. A class, because closures for each request cost more than a short
 * response.
 */
export class RequestContext {
  readonly c: Context<ExecEnv>;
  readonly call: HttpCall;
  readonly guard: RequestGuard;
  /** The bytes read from the request body. */
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

  /** `route`: the path with its parameters in braces. Default: the request matches no path. */
  constructor(
    c: Context<ExecEnv>,
    call: HttpCall,
    observe: Observer,
    guard: RequestGuard,
    route: string = OTHER_ROUTE,
  ) {
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

  /** Reports the end of the request; only the first report counts. `bytes`: the length of a body sent at once. */
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
