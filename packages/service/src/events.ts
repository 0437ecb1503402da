import type { AuthEvent } from '@svc/auth';
import type { ErrorCode, ServiceError } from '@svc/errors';
import type { Call, ChildExitReason, Client, EngineSpan, RequestOrigin, TraceContext } from '@svc/frames';
import type { SqlTarget } from './engines.ts';

/** The request of an event. */
export interface EventSource {
  readonly requestId: string;
  readonly tenant: string;
  /** The id of the caller. Omitted if authentication is off. */
  readonly caller?: string;
  /** The place of the event in a distributed trace. Omitted if the request is in none. */
  readonly trace?: TraceContext;
}

/** How a request reached the server. */
export type Protocol = 'http' | 'grpc';

/** Details of a request. They are computed on access, because few observers need them. */
export interface RequestDetails {
  /** Undefined if the connection is not known. */
  readonly client?: Client | undefined;
  readonly userAgent?: string | undefined;
  /** `GET /exec`, or the full name of the RPC, as sent by the client: not for labels of metrics. */
  readonly operation: string;
}

/** The work of a process of the engine. */
export type EngineChild = 'sql' | 'files';

/** The route of a request without one: a label of a metric must not contain a client's path. */
export const OTHER_ROUTE = 'other';

/** An event of the service; observers turn events into log lines and counters. */
export type ServiceEvent =
  | (EventSource & {
      readonly kind: 'frame_put' | 'frame_appended';
      readonly handle: string;
      /** The rows of the frame. */
      readonly rows: number;
      /** The put or appended rows. */
      readonly rowsWritten: number;
      readonly bytes: number;
      readonly created: boolean;
      readonly durationMs: number;
      /** The part of the time in which the upload arrived. Undefined for the result of a query. */
      readonly receiveMs?: number | undefined;
    })
  | (EventSource & {
      readonly kind: 'frame_opened';
      readonly handle: string;
      readonly rows: number;
      /** How long the frame took to open. */
      readonly durationMs: number;
    })
  | (EventSource & { readonly kind: 'frame_renamed'; readonly handle: string; readonly newHandle: string })
  | (EventSource & { readonly kind: 'frame_dropped'; readonly handle: string })
  /** A frame was removed because its time to live was over. */
  | { readonly kind: 'frame_expired'; readonly tenant: string; readonly handle: string }
  | (EventSource & { readonly kind: 'frame_expiry_set'; readonly handle: string; readonly expires: Date | null })
  /** A statement has ended: its result is completely sent or stored, or it failed. Once for each statement. */
  | (EventSource & {
      readonly kind: 'query_ended';
      readonly engine: SqlTarget;
      readonly outcome: QueryOutcome;
      /** The code of the error. Omitted if the outcome is `ok`. */
      readonly code?: ErrorCode;
      /** How long it waited for the engine. */
      readonly waitMs: number;
      /** How long it ran until its first rows. */
      readonly executeMs: number;
      /** From its start to its end, with the wait and the time to send the result. */
      readonly durationMs: number;
      /** The rows read from the result; 0 for the time-series database, whose responses are not parsed. */
      readonly rows: number;
      /** The bytes of the response before compression; for a stored result, the bytes of the frame. */
      readonly bytes: number;
      /** Returns the SQL without literals and comments. A function, because few observers need it. */
      readonly fingerprint: () => string;
    })
  /** The time-series database answered a request, or failed to. */
  | (EventSource & {
      readonly kind: 'query_forwarded';
      /** The status of the response; null if there was none. */
      readonly status: number | null;
      /** `ok`, or the code of the failure: by the status, if the database answered. */
      readonly outcome: 'ok' | ErrorCode;
      /** To the head of the response, or to the failure. */
      readonly durationMs: number;
    })
  | (EventSource & { readonly kind: 'tsdb_refused_credentials' })
  /** The cluster did not confirm the end of a statement; its slot is free again. */
  | (EventSource & { readonly kind: 'scheduler_not_stopping' })
  /** A process of the engine was started, for SQL or for the files of frames. Exactly one `engine_child_exited` follows. */
  | { readonly kind: 'engine_child_started'; readonly child: EngineChild }
  | {
      readonly kind: 'engine_child_exited';
      readonly child: EngineChild;
      readonly reason: ChildExitReason;
      /** Its current requests. They fail unless it is replaced in time. */
      readonly requests: readonly RequestOrigin[];
    }
  /** A process of the engine has done some work on a request whose spans are recorded; there is none for others. */
  | (RequestOrigin & {
      readonly kind: 'engine_child_answered';
      readonly child: EngineChild;
      /** Each span is after its parts. */
      readonly spans: readonly EngineSpan[];
    })
  /** A request without valid credentials; `reason` has no part of them. `operation`: as in `RequestDetails`. */
  | {
      readonly kind: 'caller_refused';
      readonly requestId: string;
      readonly operation: string | null;
      readonly reason: string;
      /** Omitted if the connection is not known. */
      readonly client?: Client;
      /** The number of refusals in this event; the other fields are those of the last one. Omitted: 1. */
      readonly count?: number;
      readonly trace?: TraceContext;
    }
  /** A write of a frame or SQL for the time-series database, successful or not, or a use of the permission `admin`. */
  | {
      readonly kind: 'audited';
      readonly requestId: string;
      readonly tenant: string;
      /** The id of the caller; null if authentication is off. */
      readonly caller: string | null;
      /** The name of the operation. */
      readonly operation: string;
      /** The frame; null if the operation is not about one, or was refused before it was known. */
      readonly handle: string | null;
      /** The new handle of a renamed frame. Omitted for other operations. */
      readonly newHandle?: string;
      readonly outcome: 'ok' | ErrorCode;
      readonly trace?: TraceContext;
    }
  | AuthEvent
  /** A request has arrived. Exactly one `request_answered` follows. */
  | { readonly kind: 'request_started'; readonly requestId: string; readonly protocol: Protocol }
  /** A request has ended: its response is complete, was cut off, or was refused. */
  | {
      readonly kind: 'request_answered';
      readonly requestId: string;
      readonly tenant: string;
      /** The id of the caller. Undefined if authentication is off or has failed. */
      readonly caller: string | undefined;
      readonly protocol: Protocol;
      /** `/frames/{handle}`, or the full name of the RPC; `OTHER_ROUTE` if there is no such path or RPC. */
      readonly route: string;
      /** The HTTP method as sent; empty if it was not read. */
      readonly method: string;
      /** HTTP status, or gRPC status name. */
      readonly status: number | string;
      readonly durationMs: number;
      /** Time to the first byte of the response body, or to the end if there is none. */
      readonly firstByteMs: number;
      /** The bytes read from the request body. */
      readonly requestBytes: number;
      /** The sent bytes of the response body. */
      readonly responseBytes: number;
      /** The rows in the request or the response, if they are known. */
      readonly rows: number | undefined;
      /** The format of the rows in the request or the response. Undefined if there are none. */
      readonly format: string | undefined;
      /** The sent error, with its cause. */
      readonly error: ServiceError | undefined;
      readonly details: RequestDetails;
      /** The span of the request, if it is in a distributed trace. */
      readonly trace?: TraceContext | undefined;
    };

/** The event of one kind. */
export type EventOf<Kind extends ServiceEvent['kind']> = Extract<ServiceEvent, { readonly kind: Kind }>;

/** Called synchronously with every event, in order. It must not throw. */
export type Observer = (event: ServiceEvent) => void;

/** Returns the fields of an event about its request. */
export function eventSource({ requestId, tenant, caller, trace }: Call): EventSource {
  const source = caller === undefined ? { requestId, tenant } : { requestId, tenant, caller: caller.id };
  return trace === undefined ? source : { ...source, trace };
}

/**
 * How a statement ended. `oom`: it needed too much memory. `refused`: it did not run, because too many others did or because
 * it is not allowed. `error`: any other failure.
 */
export type QueryOutcome = 'ok' | 'cancelled' | 'timeout' | 'oom' | 'error' | 'refused';

const OUTCOMES: Partial<Record<ErrorCode, QueryOutcome>> = {
  cancelled: 'cancelled',
  deadline_exceeded: 'timeout',
  out_of_memory: 'oom',
  permission_denied: 'refused',
  too_many_requests: 'refused',
};

/** Returns the outcome of a statement by the code of its error; undefined: there was none. */
export function queryOutcome(code: ErrorCode | undefined): QueryOutcome {
  return code === undefined ? 'ok' : (OUTCOMES[code] ?? 'error');
}

/** Returns the outcome of SQL in the time-series database by the status of its response. */
export function outcomeOfStatus(status: number): 'ok' | ErrorCode {
  if (status < 400) return 'ok';
  if (status >= 500) return 'tsdb_failed';
  return status === 403 ? 'permission_denied' : 'invalid_sql';
}
