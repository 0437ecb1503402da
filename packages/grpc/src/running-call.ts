import { Metadata, type ServerInterceptingCallInterface, status as Status } from '@grpc/grpc-js';
import { ServiceError } from '@svc/errors';
import { type Call, type Client, DEFAULT_TENANT } from '@svc/frames';
import type { ServiceEvent } from '@svc/service';
import { errorStatus, REQUEST_ID_KEY } from './error-status.ts';

/** How a call ends, as grpc-js passes it on. */
export type SentStatus = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

/** One call from its first metadata to the end of its handler. */
export interface RunningCall extends Call {
  /** The full name of the RPC. */
  readonly operation: string;
  readonly startedAt: number;
  requestId: string;
  /** The client has sent all it wants to send, and said so. */
  isRequestComplete: boolean;
  /** The handler has ended, well or not. */
  isHandled: boolean;
  /** A status was decided. */
  isAnswered: boolean;
  /** What the call failed with. */
  error: ServiceError | undefined;
  cancel(reason: ServiceError): void;
}

/** The call of an RPC that begins now; `peer` is what grpc-js says of the other end: its address and port. */
export function createRunningCall(operation: string, peer?: string): RunningCall {
  const controller = new AbortController();
  return {
    operation,
    startedAt: performance.now(),
    tenant: DEFAULT_TENANT,
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

/** The status that a call ends with: that of its error, or the one given, with the request id. */
export function finalStatus(call: RunningCall, status: SentStatus): SentStatus {
  if (call.error !== undefined) return errorStatus(call.error, call);
  const metadata = status.metadata?.clone() ?? new Metadata();
  metadata.set(REQUEST_ID_KEY, call.requestId);
  return { ...status, metadata };
}

/** What an observer hears of a call when its status is decided. */
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

/** The error behind a status that grpc-js decided by itself; undefined where it is not one of ours. */
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
  // What fails inside grpc-js before the request is complete is the request: not decompressed, not decoded.
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
