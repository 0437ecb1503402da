import type { IncomingMessage, ServerResponse } from 'node:http';
import { onAbort, ServiceError } from '@svc/errors';
import {
  type Call,
  type Caller,
  type Client,
  continueTrace,
  DEFAULT_TENANT,
  type StartTrace,
  type TraceContext,
  type TraceHeaders,
} from '@svc/frames';

/** The raw request and response; present only if the app runs on `@hono/node-server`. */
export interface NodeBindings {
  readonly incoming?: Pick<
    IncomingMessage,
    'complete' | 'headers' | 'httpVersion' | 'rawHeaders' | 'readableEnded' | 'socket' | 'url'
  > & {
    /** Calls the next handler of Express, if that is the host. */
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

/** Creates the call of a request, which is cancelled when the client disconnects. Its signal is created on first use. */
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
