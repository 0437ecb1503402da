import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import {
  Metadata,
  ResponderBuilder,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  type ServerListener,
  ServerListenerBuilder,
  status as Status,
} from '@grpc/grpc-js';
import { type ClientCertificate, clientCertificateOf, type Credentials } from '@svc/auth';
import { ERROR_CODES, onAbort, ServiceError, toServiceError } from '@svc/errors';
import {
  type Call,
  type Caller,
  type Client,
  continueTrace,
  DEFAULT_TENANT,
  type FrameStream,
  requestIdFrom,
  type TraceContext,
} from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { onEachBatch } from '@svc/frames/streams';
import type { Observer, RequestDetails, Service, ServiceEvent } from '@svc/service';
import { OTHER_ROUTE } from '@svc/service/internal';
import { ServerError, type ServerMiddleware, Status as NiceStatus } from 'nice-grpc';
import { errorStatus, REQUEST_ID_KEY } from './error-status.ts';
import {
  type ByteCounts,
  countBytes,
  finishStatus,
  limitMessages,
  type SentStatus,
  sendUncopied,
  sessionOf,
} from './grpc-js-call.ts';
import { MAX_DECOMPRESSED_BYTES, messageLimit, REQUEST_HINT } from './message-limits.ts';

/** Tracks the calls of a server from their first metadata to their status. */
interface Calls {
  /** For grpc-js: sees every call start, cancel and end. */
  readonly interceptor: ServerInterceptor;
  /** For nice-grpc: turns the error of a handler into a status. */
  readonly middleware: ServerMiddleware;
  /** Returns the call of the running handler. */
  readonly current: () => CountedCall;
  /** Cancels the running calls, or only those whose operation `isMeant` accepts. */
  cancel(reason: ServiceError, isMeant?: (operation: string) => boolean): void;
  /** Reports a call rejected by grpc-js before any interceptor runs. */
  reportRejected(error: ServiceError, path: string, requestId: string | undefined): void;
  /** Resolves when no handler is running. */
  settled(): Promise<void>;
}

/** Options of `createCalls`. */
interface CallsOptions {
  /** Called with an event when a call starts, and when it has its status. */
  readonly observe: Service['observe'];
  /** Finds the caller of a call; undefined if authentication is off. */
  readonly authenticate?: Service['authenticate'];
  /** Counts a call of a caller. Throws if its tenant sends too many. Default: there is no limit. */
  readonly admit?: Service['admit'];
  /** Finds the place of a call in a distributed trace. Default: the client's. */
  readonly startTrace?: Service['startTrace'];
  /** True if an operation needs no credentials, such as a health check. Default: none. */
  readonly isOpen?: (operation: string, metadata: Metadata) => boolean;
  /** The largest message with rows. */
  readonly maxMessageBytes: number;
  /** Called with the HTTP/2 session of a call with a caller, or of any call if authentication is off. Default: none. */
  readonly onAccepted?: (session: object | undefined) => void;
  /** Called with the HTTP/2 session of a call refused for its credentials. Default: none. */
  readonly onRefused?: (session: object | undefined) => void;
}

/** Creates the tracker of one server. */
export function createCalls(options: CallsOptions): Calls {
  const { observe, maxMessageBytes } = options;
  const storage = new AsyncLocalStorage<RunningCall>();
  const running = new Set<RunningCall>();
  const onIdle: (() => void)[] = [];

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
      const call = new RunningCall(method.path.slice(1), { peer: inner.getPeer() });
      sendUncopied(inner);
      countBytes(inner, call.traffic);
      const maxBytes = messageLimit(method.path, maxMessageBytes);
      limitMessages(inner, maxBytes);
      finishStatus(
        inner,
        () => call.isAnswered,
        (status, send) => {
          call.error ??= errorFromGrpc(call, status, { maxBytes, hasRows: maxBytes === maxMessageBytes });
          const final = finalStatus(call, status);
          call.reportEnd(observe, final.code);
          send(final);
          // Cancel the handler now: the status waits until the client has read all messages, which may be never.
          if (!call.isHandled) call.cancel(call.error ?? ended());
        },
      );
      const listener = listenerOf(call, inner, storage, options);
      return new ServerInterceptingCall(inner, new ResponderBuilder().withStart((next) => next(listener)).build());
    },
    middleware,
    current: currentCall,
    cancel(reason, isMeant = () => true) {
      for (const call of running) if (isMeant(call.operation)) call.cancel(reason);
    },
    reportRejected(error, path, requestId) {
      const call = new RunningCall(path.slice(1, MAX_OPERATION_LENGTH), { route: OTHER_ROUTE });
      call.requestId = requestIdFrom(requestId);
      call.error = error;
      call.reportEnd(observe, Status[ERROR_CODES[error.code].grpc]);
    },
    async settled() {
      if (running.size > 0) await new Promise<void>((resolve) => onIdle.push(resolve));
    },
  };
}

/** Limits names invented by clients, to protect the log. */
const MAX_OPERATION_LENGTH = 200;

function listenerOf(
  call: RunningCall,
  inner: ServerInterceptingCallInterface,
  storage: AsyncLocalStorage<RunningCall>,
  options: CallsOptions,
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
      call.reportStart(options.observe);
      const resume = (): void => storage.run(call, () => next(metadata));
      const admit = (caller: Caller): void => {
        options.onAccepted?.(sessionOf(inner));
        call.caller = caller;
        call.tenant = caller.tenant;
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
        call.reportEnd(options.observe, Status.CANCELLED);
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
  // One listener per item: a promise for the whole stream would keep every item in memory.
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

/** A call, from its first metadata to the end of its handler. */
class RunningCall implements CountedCall {
  readonly #controller = new AbortController();
  readonly signal: AbortSignal = this.#controller.signal;
  readonly startedAt: number = performance.now();
  /** The full name of the RPC, as sent by the client. */
  readonly operation: string;
  /** The full name of the RPC, or `other` if there is none of this name. */
  readonly route: string;
  readonly client: Client | undefined;
  readonly traffic: CallTraffic = {
    requestBytes: 0,
    responseBytes: 0,
    firstByteAt: undefined,
    rows: undefined,
    hasRows: false,
  };
  /** Set together with the caller, when the call is authenticated. */
  tenant: string = DEFAULT_TENANT;
  caller: Caller | undefined;
  requestId = '';
  userAgent: string | undefined;
  trace: TraceContext | undefined;
  /** The client has half-closed the call: the request is complete. */
  isRequestComplete = false;
  /** The handler has ended, successful or not. */
  isHandled = false;
  /** The start of the call was reported. */
  isStarted = false;
  /** The call has its status. */
  isAnswered = false;
  /** The error of a failed call. */
  error: ServiceError | undefined;

  /** `peer` is the address and port of the client, as given by grpc-js. */
  constructor(operation: string, { route = operation, peer }: { readonly route?: string; readonly peer?: string }) {
    this.operation = operation;
    this.route = route;
    this.client = clientOf(peer);
  }

  cancel(reason: ServiceError): void {
    this.#controller.abort(reason);
  }

  /** Reports the start of the call, once. */
  reportStart(observe: Observer): void {
    if (this.isStarted) return;
    this.isStarted = true;
    observe({ kind: 'request_started', requestId: this.requestId, protocol: 'grpc' });
  }

  /** Reports the end of the call, once. */
  reportEnd(observe: Observer, status: Status): void {
    if (this.isAnswered) return;
    this.isAnswered = true;
    // grpc-js may end a call before its metadata is read.
    this.reportStart(observe);
    observe(answeredEvent(this, status));
  }
}

function clientOf(peer: string | undefined): Client | undefined {
  const [, address, connection] = /^(.*):(\d+)$/.exec(peer ?? '') ?? [];
  return address === undefined || connection === undefined ? undefined : { address, connection };
}

/** Returns the final status of a call: the one of its error, or the given one with the request id. */
function finalStatus(call: RunningCall, status: SentStatus): SentStatus {
  if (call.error !== undefined) return errorStatus(call.error, call);
  const metadata = status.metadata?.clone() ?? new Metadata();
  metadata.set(REQUEST_ID_KEY, call.requestId);
  return { ...status, metadata };
}

function answeredEvent(call: RunningCall, status: Status): ServiceEvent {
  const { traffic, error } = call;
  const nowMs = performance.now();
  return {
    kind: 'request_answered',
    requestId: call.requestId,
    tenant: call.tenant,
    caller: call.caller?.id,
    protocol: 'grpc',
    route: call.route,
    method: 'POST',
    status: Status[status],
    durationMs: nowMs - call.startedAt,
    firstByteMs: (traffic.firstByteAt ?? nowMs) - call.startedAt,
    requestBytes: traffic.requestBytes,
    responseBytes: traffic.responseBytes,
    rows: error === undefined ? traffic.rows : undefined,
    format: traffic.hasRows ? 'arrow' : undefined,
    error,
    details: detailsOf(call),
    trace: call.trace,
  };
}

function detailsOf({ operation, client, userAgent }: RunningCall): RequestDetails {
  return { operation, client, userAgent: userAgent?.slice(0, MAX_USER_AGENT_LENGTH) };
}

/** Longer names of clients are cut in the log. */
const MAX_USER_AGENT_LENGTH = 200;

/** Returns the error behind a status chosen by grpc-js; undefined if there is none. */
function errorFromGrpc(
  call: RunningCall,
  status: SentStatus,
  { maxBytes, hasRows }: { readonly maxBytes: number; readonly hasRows: boolean },
): ServiceError | undefined {
  if (status.code === Status.DEADLINE_EXCEEDED) {
    const elapsedMs = Math.round(performance.now() - call.startedAt);
    return new ServiceError('deadline_exceeded', `The client's deadline passed after ${elapsedMs} ms.`, {
      hint: 'Ask for less, or set a later deadline.',
    });
  }
  if (status.code === Status.RESOURCE_EXHAUSTED) {
    if (status.details?.includes('decompresses') && maxBytes > MAX_DECOMPRESSED_BYTES) {
      return new ServiceError(
        'payload_too_large',
        `A compressed message of the call is larger than ${MAX_DECOMPRESSED_BYTES} bytes.`,
        { hint: 'Send the data in more and smaller messages, or without gRPC compression.' },
      );
    }
    return new ServiceError('payload_too_large', `A message of the call is larger than ${maxBytes} bytes.`, {
      hint: hasRows
        ? 'Send the data in more and smaller messages, or raise grpc.max_message_bytes.'
        : 'Shorten the request: put large values into a frame, and join it.',
    });
  }
  // grpc-js fails before the request is complete only if it cannot decompress or decode the request.
  if (status.code === Status.INTERNAL && !call.isRequestComplete) {
    return new ServiceError(
      'invalid_argument',
      `A message of the call cannot be read as a request of ${call.operation}.`,
      { hint: REQUEST_HINT },
    );
  }
  return undefined;
}

/** What a call has moved so far. */
interface CallTraffic extends ByteCounts {
  /** The rows sent so far; undefined if the call returns none. */
  rows: number | undefined;
  /** True if the messages carry rows. */
  hasRows: boolean;
}

/** A call whose traffic is counted. */
export interface CountedCall extends Call {
  readonly traffic: CallTraffic;
  /** What the client calls itself. */
  readonly userAgent?: string | undefined;
}

/** Counts the rows sent by a call. */
export function countRows({ traffic }: CountedCall, stream: FrameStream): FrameStream {
  traffic.hasRows = true;
  traffic.rows ??= 0;
  return onEachBatch(stream, ({ numRows }) => {
    traffic.rows = (traffic.rows ?? 0) + numRows;
  });
}

/** The metadata with the credentials, as in HTTP. */
export const AUTHORIZATION_KEY = 'authorization';

/** Some Flight clients repeat the token of their handshake in this metadata. */
const HANDSHAKE_TOKEN_KEY = 'auth-token-bin';

/** Returns the credentials of a call: in its metadata, and the certificate of its connection. */
function credentialsOf(metadata: Metadata, call: object): Credentials {
  const connection = sessionOf(call);
  return { ...metadataCredentials(metadata), certificate: certificateOf(connection), connection };
}

function certificateOf(session: object | undefined): ClientCertificate | undefined {
  return session !== undefined && 'socket' in session ? clientCertificateOf(session.socket) : undefined;
}

function metadataCredentials(metadata: Metadata): Credentials {
  const authorization = metadata.get(AUTHORIZATION_KEY)[0]?.toString();
  if (authorization !== undefined) return { authorization };
  const token = metadata.get(HANDSHAKE_TOKEN_KEY)[0]?.toString();
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}
