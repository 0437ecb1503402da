import { onAbort, type ServiceError } from '@svc/errors';
import type { Call, Caller, Client, TraceContext } from '@svc/frames';
import { isCancelled } from '@svc/frames/internal';

/**
 * The call of a statement, which can be cancelled apart from the request that sent it. Its signal is created on first use: a
 * short response of the database is there before anyone needs it.
 */
export class StatementCall implements Call {
  readonly #call: Call;
  #controller: AbortController | undefined;
  #reason: ServiceError | undefined;
  #stopListening: (() => void) | undefined;

  constructor(call: Call) {
    this.#call = call;
  }

  get tenant(): string {
    return this.#call.tenant;
  }

  get caller(): Caller | undefined {
    return this.#call.caller;
  }

  get client(): Client | undefined {
    return this.#call.client;
  }

  get requestId(): string {
    return this.#call.requestId;
  }

  get trace(): TraceContext | undefined {
    return this.#call.trace;
  }

  get isCancelled(): boolean {
    return this.#reason !== undefined || isCancelled(this.#call);
  }

  get signal(): AbortSignal {
    this.#controller ??= this.#createController();
    return this.#controller.signal;
  }

  cancel(reason: ServiceError): void {
    this.#reason ??= reason;
    this.#controller?.abort(reason);
  }

  /** Stops listening to the request: it may outlive the statement. */
  end(): void {
    this.#stopListening?.();
  }

  #createController(): AbortController {
    const controller = new AbortController();
    if (this.#reason !== undefined) controller.abort(this.#reason);
    else {
      const { signal } = this.#call;
      this.#stopListening = onAbort(signal, () => controller.abort(signal.reason));
    }
    return controller;
  }
}
