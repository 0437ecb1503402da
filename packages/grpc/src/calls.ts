import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import {
  type Metadata,
  ResponderBuilder,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  type ServerListener,
  ServerListenerBuilder,
  status as Status,
} from '@grpc/grpc-js';
import { ERROR_CODES, onAbort, ServiceError, toServiceError } from '@svc/errors';
import { type Caller, continueTrace, requestIdFrom } from '@svc/frames';
import { createYield } from '@svc/frames/internal';
import type { Service } from '@svc/service';
import { OTHER_ROUTE } from '@svc/service/internal';
import { ServerError, type ServerMiddleware, Status as NiceStatus } from 'nice-grpc';
import { credentialsOf, sessionOf, setCaller } from './call-credentials.ts';
import { countBytes, type CountedCall } from './call-traffic.ts';
import { REQUEST_ID_KEY } from './error-status.ts';
import { limitMessages, messageLimit } from './message-limits.ts';
import {
  type CallReports,
  createCallReports,
  createRunningCall,
  errorFromGrpc,
  finalStatus,
  type RunningCall,
} from './running-call.ts';

/** Tracks the calls of a server from their first metadata to their status. */
export interface Calls {
  /** For grpc-js: sees every call start, cancel and end. */
  readonly interceptor: ServerInterceptor;
  /** For nice-grpc: turns the error of a handler into a status. */
  readonly middleware: ServerMiddleware;
  /** Returns the call of the running handler. */
  readonly current: () => CountedCall;
  /** Cancels the running calls, or only those whose operation `isMeant` accepts. */
  cancel(reason: ServiceError, isMeant?: (operation: string) => boolean): void;
  /** Reports a call that grpc-js rejects before any interceptor runs. */
  reportRejected(error: ServiceError, path: string, requestId: string | undefined): void;
  /** Resolves when no handler is running. */
  settled(): Promise<void>;
}

/** Options of `createCalls`. */
export interface CallsOptions {
  /** Called with an event when a call starts, and when it has its status. */
  readonly observe: Service['observe'];
  /** Finds the caller of a call; undefined if authentication is off. */
  readonly authenticate?: Service['authenticate'];
  /** Counts a call of a caller. Throws if its tenant sends too many. Default: there is no limit. */
  readonly admit?: Service['admit'];
  /** Finds the place of a call in a distributed trace. Default: that of the client. */
  readonly startTrace?: Service['startTrace'];
  /** Whether anyone may call an operation, such as that of a health check. Default: no. */
  readonly isOpen?: (operation: string, metadata: Metadata) => boolean;
  /** The largest message with rows that a client may send. */
  readonly maxMessageBytes: number;
  /** Called with the HTTP/2 session of a call that has a caller, or of any call if authentication is off. Default: none. */
  readonly onAccepted?: (session: object | undefined) => void;
  /** Called with the HTTP/2 session of a call that was refused because it proves no caller. Default: none. */
  readonly onRefused?: (session: object | undefined) => void;
}

/** Creates the tracker of one server. */
export function createCalls(options: CallsOptions): Calls {
  const { observe, maxMessageBytes } = options;
  const storage = new AsyncLocalStorage<RunningCall>();
  const running = new Set<RunningCall>();
  const onIdle: (() => void)[] = [];

  const reports = createCallReports(observe);

  function currentCall(): RunningCall {
    const call = storage.getStore();
    if (call === undefined) throw new Error('There is no current call.');
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
      const call = createRunningCall(method.path.slice(1), { peer: inner.getPeer() });
      countBytes(inner, call.traffic);
      const maxBytes = messageLimit(method.path, maxMessageBytes);
      limitMessages(inner, maxBytes);
      const send = inner.sendStatus.bind(inner);
      // grpc-js ends some calls itself (deadline, message too large), and uses this method too.
      inner.sendStatus = (status) => {
        call.error ??= errorFromGrpc(call, status, { maxBytes, hasRows: maxBytes === maxMessageBytes });
        const final = finalStatus(call, status);
        reports.end(call, final.code);
        send(final);
        // Cancel the handler now: the status waits until the client has read all messages, which may be never.
        if (!call.isHandled) call.cancel(call.error ?? ended());
      };
      const sendMessage = inner.sendMessage.bind(inner);
      // A message after the status would break the stream, and the status would be lost.
      inner.sendMessage = (message, onSent) => {
        if (!call.isAnswered) sendMessage(message, onSent);
      };
      const listener = listenerOf(call, inner, { storage, reports, options });
      return new ServerInterceptingCall(inner, new ResponderBuilder().withStart((next) => next(listener)).build());
    },
    middleware,
    current: currentCall,
    cancel(reason, isMeant = () => true) {
      for (const call of running) if (isMeant(call.operation)) call.cancel(reason);
    },
    reportRejected(error, path, requestId) {
      const call = createRunningCall(path.slice(1, MAX_OPERATION_LENGTH), { route: OTHER_ROUTE });
      call.requestId = requestIdFrom(requestId);
      call.error = error;
      reports.end(call, Status[ERROR_CODES[error.code].grpc]);
    },
    async settled() {
      if (running.size > 0) await new Promise<void>((resolve) => onIdle.push(resolve));
    },
  };
}

/** Limits names invented by clients, to protect the log. */
const MAX_OPERATION_LENGTH = 200;

interface ListenerParts {
  readonly storage: AsyncLocalStorage<RunningCall>;
  readonly reports: CallReports;
  readonly options: CallsOptions;
}

function listenerOf(
  call: RunningCall,
  inner: ServerInterceptingCallInterface,
  { storage, reports, options }: ListenerParts,
): ServerListener {
  const { startTrace = continueTrace } = options;
  return new ServerListenerBuilder()
    .withOnReceiveMetadata((metadata, next) => {
      call.requestId = requestIdFrom(textIn(metadata, REQUEST_ID_KEY));
      call.trace = startTrace({
        traceparent: textIn(metadata, 'traceparent'),
        tracestate: textIn(metadata, 'tracestate'),
      });
      call.userAgent = textIn(metadata, 'user-agent');
      call.metadata = metadata;
      reports.start(call);
      const resume = (): void => storage.run(call, () => next(metadata));
      const admit = (caller: Caller): void => {
        options.onAccepted?.(sessionOf(inner));
        setCaller(call, caller);
        options.admit?.(call);
      };
      const refuse = (thrown: unknown): void => {
        call.error = toServiceError(thrown);
        inner.sendStatus({ code: Status[ERROR_CODES[call.error.code].grpc], details: call.error.message });
        if (call.error.code === 'unauthenticated') options.onRefused?.(sessionOf(inner));
      };
      try {
        const caller = callerOf(call, inner, metadata, options);
        // grpc-js keeps the messages back until `next` is called: those of a refused call are never read.
        if (caller instanceof Promise) return void caller.then(admit).then(resume, refuse);
        if (caller !== undefined) admit(caller);
        else if (options.authenticate === undefined) options.onAccepted?.(sessionOf(inner));
      } catch (error) {
        return refuse(error);
      }
      return resume();
    })
    .withOnReceiveHalfClose((next) => {
      // A broken connection looks like the end of the request. Reading makes grpc-js check the stream: if that is gone,
      // the cancellation comes in the next tick, before the tick queued here.
      inner.startRead();
      process.nextTick(() => {
        if (call.signal.aborted) return;
        call.isRequestComplete = true;
        storage.run(call, next);
      });
    })
    .withOnCancel(() => {
      // grpc-js also calls this at the end of every answered call.
      if (!call.isAnswered) {
        call.error = new ServiceError(
          'cancelled',
          'The client cancelled the call or disconnected before the response was complete.',
        );
        reports.end(call, Status.CANCELLED);
      }
      if (!call.isHandled) call.cancel(call.error ?? ended());
    })
    .build();
}

/** Finds the caller of a call; returns undefined if it needs none. */
function callerOf(
  call: RunningCall,
  inner: ServerInterceptingCallInterface,
  metadata: Metadata,
  { authenticate, isOpen = () => false }: CallsOptions,
): Caller | Promise<Caller> | undefined {
  if (authenticate === undefined || isOpen(call.operation, metadata)) return undefined;
  return authenticate(credentialsOf(metadata, inner), call);
}

function textIn(metadata: Metadata, key: string): string | undefined {
  return metadata.get(key)[0]?.toString();
}

function ended(): ServiceError {
  return new ServiceError('cancelled', 'The call has ended.');
}

/**
 * Yields the items of a source until the signal aborts, then throws its reason. If the source ends although `isComplete`
 * returns false, the connection broke: waits for the abort, so that the request does not look complete. The event loop
 * runs between items that take long together: one chunk of a connection can have thousands of empty messages.
 */
async function* untilAborted<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal,
  isComplete: () => boolean,
): AsyncGenerator<T, void, undefined> {
  const items = source[Symbol.asyncIterator]();
  const turn = createYield();
  for (;;) {
    await turn();
    signal.throwIfAborted();
    const next = await nextOrAbort(items, signal);
    signal.throwIfAborted();
    if (next === undefined || (next.done === true && !isComplete())) {
      await once(signal, 'abort');
    } else if (next.done === true) {
      return;
    } else {
      yield next.value;
    }
  }
}

/** Returns the next item; undefined if the signal aborts first. */
async function nextOrAbort<T>(items: AsyncIterator<T>, signal: AbortSignal): Promise<IteratorResult<T> | undefined> {
  // One listener per item: a promise that outlives the items would keep every one of them in memory.
  let stopListening = (): void => undefined;
  const aborted = new Promise<undefined>((resolve) => {
    stopListening = onAbort(signal, () => resolve(undefined));
  });
  try {
    return await Promise.race([items.next(), aborted]);
  } finally {
    stopListening();
  }
}
