import type { IncomingMessage, ServerResponse } from 'node:http';
import { onAbort, ServiceError } from '@svc/errors';
import { type Call, type Client, DEFAULT_TENANT } from '@svc/frames';

/** The raw request and answer, there only where the app runs on `@hono/node-server`. */
export interface NodeBindings {
  readonly incoming?: Pick<IncomingMessage, 'complete' | 'headers' | 'httpVersion' | 'socket' | 'url'>;
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

/** The call of a request, cancelled when the client goes away. Its signal is made when it is first asked for. */
export function createHttpCall(requestId: string, bindings: NodeBindings, request: Request): Call {
  const { incoming, outgoing } = bindings;
  if (incoming === undefined || outgoing === undefined) return new HttpCall(requestId, request);
  return new HttpCall(requestId, request, { incoming, outgoing });
}

/** A class, because an object with a getter of its own for every request costs more than a short answer. */
class HttpCall implements Call {
  readonly tenant = DEFAULT_TENANT;
  readonly requestId: string;
  readonly #request: Request;
  readonly #node: Required<NodeBindings> | undefined;
  #signal: AbortSignal | undefined;

  constructor(requestId: string, request: Request, node?: Required<NodeBindings>) {
    this.requestId = requestId;
    this.#request = request;
    this.#node = node;
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

  /** The signal of the request says the same, without a code. */
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
