import { AsyncLocalStorage } from 'node:async_hooks';
import {
  ResponderBuilder,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  type ServerListener,
  ServerListenerBuilder,
  status as Status,
} from '@grpc/grpc-js';
import { ERROR_CODES, quoted, ServiceError, toServiceError } from '@svc/errors';
import { type Call, requestIdFrom } from '@svc/frames';
import type { Service } from '@svc/service';
import { ServerError, type ServerMiddleware, Status as NiceStatus } from 'nice-grpc';
import { REQUEST_ID_KEY } from './error-status.ts';
import { answeredEvent, createRunningCall, errorFromGrpc, finalStatus, type RunningCall } from './running-call.ts';
import { untilAborted } from './until-aborted.ts';

/** The calls of a server, from their first metadata to their status, whoever decides that. */
export interface Calls {
  /** For grpc-js: sees every call begin, be cancelled and end. */
  readonly interceptor: ServerInterceptor;
  /** For nice-grpc: turns what a handler throws into a status. */
  readonly middleware: ServerMiddleware;
  /** The call that the running handler answers. */
  readonly current: () => Call;
  /** Ends the running calls of which `isMeant` says so by their operation. */
  cancel(reason: ServiceError, isMeant?: (operation: string) => boolean): void;
  /** Reports a call of a method that there is not: grpc-js answers it where no interceptor sees it. */
  reportUnknown(path: string, requestId: string | undefined): void;
  /** Resolves when no handler runs any more. */
  settled(): Promise<void>;
}

/** How calls are followed. */
export interface CallsOptions {
  /** Hears of every call when it is answered. */
  readonly observe: Service['observe'];
  /** The largest message a client may send, for the sentence about a larger one. */
  readonly maxMessageBytes: number;
}

/** Follows the calls of one server. */
export function createCalls({ observe, maxMessageBytes }: CallsOptions): Calls {
  const storage = new AsyncLocalStorage<RunningCall>();
  const running = new Set<RunningCall>();
  const onIdle: (() => void)[] = [];

  function report(call: RunningCall, status: Status): void {
    if (call.isAnswered) return;
    call.isAnswered = true;
    observe(answeredEvent(call, status));
  }

  function currentCall(): RunningCall {
    const call = storage.getStore();
    if (call === undefined) throw new Error('No call is being answered here.');
    return call;
  }

  const middleware: ServerMiddleware = async function* handle(nice, context) {
    const call = currentCall();
    running.add(call);
    try {
      if (!nice.requestStream) return yield* nice.next(nice.request, context);
      return yield* nice.next(
        untilAborted(nice.request, call.signal, () => call.isRequestComplete),
        context,
      );
    } catch (thrown) {
      if (thrown instanceof ServerError) throw thrown;
      call.error ??= toServiceError(call.signal.aborted ? call.signal.reason : thrown);
      throw new ServerError(NiceStatus[ERROR_CODES[call.error.code].grpc], call.error.message);
    } finally {
      call.isHandled = true;
      running.delete(call);
      if (running.size === 0) for (const resolve of onIdle.splice(0)) resolve();
    }
  };

  return {
    interceptor(method, inner) {
      const call = createRunningCall(method.path.slice(1), inner.getPeer());
      const send = inner.sendStatus.bind(inner);
      // grpc-js answers some calls by itself (a deadline, a message too large), and does so by this same method.
      inner.sendStatus = (status) => {
        call.error ??= errorFromGrpc(call, status, maxMessageBytes);
        const final = finalStatus(call, status);
        report(call, final.code);
        send(final);
        // The status is on its way as soon as the client has read what comes before it, which may be never.
        if (!call.isHandled) call.cancel(call.error ?? ended());
      };
      const sendMessage = inner.sendMessage.bind(inner);
      // A message behind the status would break the stream, and the status would not arrive.
      inner.sendMessage = (message, onSent) => {
        if (!call.isAnswered) sendMessage(message, onSent);
      };
      const listener = listenerOf(call, inner, storage, report);
      return new ServerInterceptingCall(inner, new ResponderBuilder().withStart((next) => next(listener)).build());
    },
    middleware,
    current: currentCall,
    cancel(reason, isMeant = () => true) {
      for (const call of running) if (isMeant(call.operation)) call.cancel(reason);
    },
    reportUnknown(path, requestId) {
      const call = createRunningCall(path.slice(1, MAX_OPERATION_LENGTH));
      call.requestId = requestIdFrom(requestId);
      call.error = new ServiceError('route_not_found', `This server has no method ${quoted(path)}.`);
      report(call, Status.UNIMPLEMENTED);
    },
    async settled() {
      if (running.size > 0) await new Promise<void>((resolve) => onIdle.push(resolve));
    },
  };
}

/** A name that a client made up is not to fill the log. */
const MAX_OPERATION_LENGTH = 200;

function listenerOf(
  call: RunningCall,
  inner: ServerInterceptingCallInterface,
  storage: AsyncLocalStorage<RunningCall>,
  report: (call: RunningCall, status: Status) => void,
): ServerListener {
  return new ServerListenerBuilder()
    .withOnReceiveMetadata((metadata, next) => {
      call.requestId = requestIdFrom(metadata.get(REQUEST_ID_KEY)[0]?.toString());
      storage.run(call, () => next(metadata));
    })
    .withOnReceiveHalfClose((next) => {
      // A connection that breaks looks like an end of the request. Asking for more makes grpc-js look at the stream: if
      // that is gone, the cancellation is in the next tick, before the one asked for here.
      inner.startRead();
      process.nextTick(() => {
        if (call.signal.aborted) return;
        call.isRequestComplete = true;
        storage.run(call, next);
      });
    })
    .withOnCancel(() => {
      // grpc-js also says so at the end of every call that was answered.
      if (!call.isAnswered) {
        call.error = new ServiceError('cancelled', 'The client went away before the call was answered.');
        report(call, Status.CANCELLED);
      }
      if (!call.isHandled) call.cancel(call.error ?? ended());
    })
    .build();
}

function ended(): ServiceError {
  return new ServiceError('cancelled', 'The call was ended.');
}
