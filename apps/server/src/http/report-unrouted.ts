import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { ServiceError } from '@svc/errors';
import { DEFAULT_TENANT } from '@svc/frames';
import type { Observer } from '@svc/service';
import { OTHER_ROUTE } from '@svc/service/internal';

/** A request that is answered without the endpoints. */
export interface UnroutedRequest {
  readonly requestId: string;
  readonly status: number;
  /** Undefined if the request is not refused. */
  readonly error?: ServiceError;
  /** The length of the body of the response. */
  readonly bytes: number;
  /** Undefined if the request could not be parsed. */
  readonly request?: Pick<IncomingMessage, 'headers' | 'method' | 'url'> | undefined;
  readonly socket: Pick<Socket, 'remoteAddress' | 'remotePort'> | undefined;
}

/** Reports the start and the end of a request that no endpoint sees, such as one that is not HTTP. */
export function reportUnrouted(observe: Observer, unrouted: UnroutedRequest): void {
  const { requestId, status, error, bytes, request, socket } = unrouted;
  const { method = '', url = '', headers } = request ?? {};
  const { remoteAddress: address, remotePort } = socket ?? {};
  observe({ kind: 'request_started', requestId, protocol: 'http' });
  observe({
    kind: 'request_answered',
    requestId,
    tenant: DEFAULT_TENANT,
    caller: undefined,
    protocol: 'http',
    route: OTHER_ROUTE,
    method,
    status,
    durationMs: 0,
    firstByteMs: 0,
    requestBytes: 0,
    responseBytes: bytes,
    rows: undefined,
    format: undefined,
    error,
    details: {
      client: address === undefined ? undefined : { address, connection: String(remotePort) },
      userAgent: headers?.['user-agent']?.slice(0, MAX_LENGTH),
      operation: `${method} ${url.split('?', 1)[0]?.slice(0, MAX_LENGTH)}`.trim(),
    },
  });
}

/** Longer texts are cut in the log. */
const MAX_LENGTH = 200;
