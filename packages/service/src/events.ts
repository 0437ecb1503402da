import type { AuthEvent } from '@svc/auth';
import type { ErrorCode, ServiceError } from '@svc/errors';

/** The request that an event belongs to. */
export interface EventSource {
  readonly requestId: string;
  readonly tenant: string;
  /** The id of the caller. Omitted if authentication is off. */
  readonly caller?: string;
}

/** An event of the service; observers turn events into log lines and counters. */
export type ServiceEvent =
  | (EventSource & {
      readonly kind: 'frame_put' | 'frame_appended';
      readonly handle: string;
      readonly rows: number;
      readonly bytes: number;
      readonly created: boolean;
      readonly durationMs: number;
    })
  | (EventSource & { readonly kind: 'frame_opened'; readonly handle: string; readonly rows: number })
  | (EventSource & { readonly kind: 'frame_dropped'; readonly handle: string })
  | (EventSource & { readonly kind: 'frame_expiry_set'; readonly handle: string; readonly expires: Date | null })
  | (EventSource & { readonly kind: 'query_answered'; readonly engine: string; readonly durationMs: number })
  | (EventSource & { readonly kind: 'query_forwarded'; readonly status: number; readonly durationMs: number })
  | (EventSource & { readonly kind: 'tsdb_refused_credentials' })
  /** The cluster did not confirm that a statement has stopped; its slot is free again. */
  | (EventSource & { readonly kind: 'scheduler_not_stopping' })
  /** A request without valid credentials; `reason` has no part of them. `operation`: as in `request_answered`. */
  | {
      readonly kind: 'caller_refused';
      readonly requestId: string;
      readonly operation: string | null;
      readonly reason: string;
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
      /** The frame; null if the operation is not about one, or was refused before that was known. */
      readonly handle: string | null;
      readonly outcome: 'ok' | ErrorCode;
    }
  | AuthEvent
  | {
      readonly kind: 'request_answered';
      readonly requestId: string;
      /** The protocol of the request. */
      readonly protocol: 'http' | 'grpc';
      /** `GET /exec`, or the full name of the RPC. */
      readonly operation: string;
      /** HTTP status, or gRPC status name. */
      readonly status: number | string;
      readonly durationMs: number;
      /** The error that was sent, with its cause. */
      readonly error?: ServiceError;
    };

/** Called synchronously with every event, in order. It must not throw. */
export type Observer = (event: ServiceEvent) => void;
