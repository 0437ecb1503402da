import { Metadata, type ServerInterceptingCallInterface, status as Status } from '@grpc/grpc-js';
import { ServiceError } from '@svc/errors';
import { type Caller, type Client, DEFAULT_TENANT, type TraceContext } from '@svc/frames';
import type { Observer, RequestDetails, ServiceEvent } from '@svc/service';
import { type CountedCall, createTraffic } from './call-traffic.ts';
import { errorStatus, REQUEST_ID_KEY } from './error-status.ts';
import { MAX_DECOMPRESSED_BYTES, REQUEST_HINT } from './message-limits.ts';

/** The status of a call in the form of grpc-js. */
export type SentStatus = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

/** A call, from its first metadata to the end of its handler. */
export interface RunningCall extends CountedCall {
  /** The full name of the RPC, as sent by the client. */
  readonly operation: string;
  /** The full name of the RPC, or `other` if there is none of this name. */
  readonly route: string;
  readonly startedAt: number;
  /** Set together with the caller, when the call is authenticated. */
  tenant: string;
  caller: Caller | undefined;
  requestId: string;
  userAgent: string | undefined;
  /** The metadata of the request, once it has arrived. */
  metadata: Metadata | undefined;
  trace: TraceContext | undefined;
  /** The client has half-closed the call: the request is complete. */
  isRequestComplete: boolean;
  /** The handler has ended, successful or not. */
  isHandled: boolean;
  /** The start of the call was reported. */
  isStarted: boolean;
  /** The call has its status. */
  isAnswered: boolean;
  /** The error of a failed call. */
  error: ServiceError | undefined;
  cancel(reason: ServiceError): void;
}

/** Where a call goes and comes from. */
export interface CallOrigin {
  /** Default: the operation. */
  readonly route?: string;
  /** The address and port of the client, as given by grpc-js. */
  readonly peer?: string;
}

/** Creates the call of an RPC that starts now. */
export function createRunningCall(operation: string, { route = operation, peer }: CallOrigin): RunningCall {
  const controller = new AbortController();
  return {
    operation,
    route,
    startedAt: performance.now(),
    tenant: DEFAULT_TENANT,
    caller: undefined,
    client: clientOf(peer),
    requestId: '',
    userAgent: undefined,
    metadata: undefined,
    traffic: createTraffic(),
    trace: undefined,
    isRequestComplete: false,
    isHandled: false,
    isStarted: false,
    isAnswered: false,
    error: undefined,
    signal: controller.signal,
    cancel: (reason) => controller.abort(reason),
  };
}

function clientOf(peer: string | undefined): Client | undefined {
  const [, address, connection] = /^(.*):(\d+)$/.exec(peer ?? '') ?? [];
  return address === undefined || connection === undefined ? undefined : { address, connection };
}

/** Returns the final status of a call: the one of its error, or the given one with the request id. */
export function finalStatus(call: RunningCall, status: SentStatus): SentStatus {
  if (call.error !== undefined) return errorStatus(call.error, call);
  const metadata = status.metadata?.clone() ?? new Metadata();
  metadata.set(REQUEST_ID_KEY, call.requestId);
  return { ...status, metadata };
}

/** Reports the start and the end of calls, each once. */
export interface CallReports {
  start(call: RunningCall): void;
  end(call: RunningCall, status: Status): void;
}

/** Creates the reports for an observer. */
export function createCallReports(observe: Observer): CallReports {
  function start(call: RunningCall): void {
    if (call.isStarted) return;
    call.isStarted = true;
    observe({ kind: 'request_started', requestId: call.requestId, protocol: 'grpc' });
  }
  return {
    start,
    end(call, status) {
      if (call.isAnswered) return;
      call.isAnswered = true;
      // grpc-js may end a call before its metadata is read.
      start(call);
      observe(answeredEvent(call, status));
    },
  };
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

function detailsOf({ operation, client, metadata }: RunningCall): RequestDetails {
  return {
    operation,
    client,
    get userAgent() {
      return metadata?.get('user-agent')[0]?.toString().slice(0, MAX_USER_AGENT_LENGTH);
    },
  };
}

/** Longer names of clients are cut in the log. */
const MAX_USER_AGENT_LENGTH = 200;

/** Returns the error of a status that grpc-js chose itself; undefined if there is none. */
export function errorFromGrpc(
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
