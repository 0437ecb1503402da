import { Metadata, type ServerInterceptingCallInterface, status as Status } from '@grpc/grpc-js';
import { ServiceError } from '@svc/errors';
import { type Call, type Caller, type Client, DEFAULT_TENANT } from '@svc/frames';
import type { ServiceEvent } from '@svc/service';
import { errorStatus, REQUEST_ID_KEY } from './error-status.ts';

/** The status of a call in the form of grpc-js. */
export type SentStatus = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

/** A call, from its first metadata to the end of its handler. */
export interface RunningCall extends Call {
  /** The full name of the RPC. */
  readonly operation: string;
  readonly startedAt: number;
  /** Set together with the caller, when the call is authenticated. */
  tenant: string;
  caller: Caller | undefined;
  requestId: string;
  /** The client has half-closed the call: the request is complete. */
  isRequestComplete: boolean;
  /** The handler has ended, successful or not. */
  isHandled: boolean;
  /** The call has its status. */
  isAnswered: boolean;
  /** The error of a failed call. */
  error: ServiceError | undefined;
  cancel(reason: ServiceError): void;
}

/** Creates the call of an RPC that starts now; `peer` is the address and port of the client, as given by grpc-js. */
export function createRunningCall(operation: string, peer?: string): RunningCall {
  const controller = new AbortController();
  return {
    operation,
    startedAt: performance.now(),
    tenant: DEFAULT_TENANT,
    caller: undefined,
    client: clientOf(peer),
    requestId: '',
    isRequestComplete: false,
    isHandled: false,
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

/** Returns the event of an answered call. */
export function answeredEvent(call: RunningCall, status: Status): ServiceEvent {
  return {
    kind: 'request_answered',
    requestId: call.requestId,
    protocol: 'grpc',
    operation: call.operation,
    status: Status[status],
    durationMs: performance.now() - call.startedAt,
    ...(call.error === undefined ? {} : { error: call.error }),
  };
}

/** Returns the error of a status that grpc-js chose itself; undefined if there is none. */
export function errorFromGrpc(
  call: RunningCall,
  status: SentStatus,
  maxMessageBytes: number,
): ServiceError | undefined {
  if (status.code === Status.DEADLINE_EXCEEDED) {
    const elapsedMs = Math.round(performance.now() - call.startedAt);
    return new ServiceError('deadline_exceeded', `The client's deadline passed after ${elapsedMs} ms.`, {
      hint: 'Ask for less, or set a later deadline.',
    });
  }
  if (status.code === Status.RESOURCE_EXHAUSTED) {
    return new ServiceError('payload_too_large', `A message of the call is larger than ${maxMessageBytes} bytes.`, {
      hint: 'Send the data in more and smaller messages, or raise grpc.max_message_bytes.',
    });
  }
  // grpc-js fails before the request is complete only if it cannot decompress or decode the request.
  if (status.code === Status.INTERNAL && !call.isRequestComplete) {
    return new ServiceError(
      'invalid_argument',
      `A message of the call cannot be read as a request of ${call.operation}.`,
      {
        hint: 'Check that client and server use the same .proto file.',
      },
    );
  }
  return undefined;
}
