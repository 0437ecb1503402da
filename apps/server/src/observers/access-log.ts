import type { Config } from '@svc/config';
import type { EventOf, Observer } from '@svc/service';
import { type Log, type LogFields, roundMs } from './log.ts';

/** Writes one line for each request, or for those that fail. Returns undefined if the access log is off. */
export function createAccessLog(
  log: Pick<Log, 'always'>,
  { access, access_sample: share }: Pick<Config['logging'], 'access' | 'access_sample'>,
): Observer | undefined {
  if (access === 'off') return undefined;
  return (event) => {
    if (event.kind !== 'request_answered') return;
    const isLogged = hasFailed(event) || (access === 'all' && (share === 1 || Math.random() < share));
    if (isLogged) log.always('access', fieldsOf(event));
  };
}

/**
 * Whether a request has failed. A mistake of the client is a failure, too: no other line shows it. A response that the
 * time-series database sent has only its status.
 */
function hasFailed({ error, status }: EventOf<'request_answered'>): boolean {
  return error !== undefined || (typeof status === 'number' && status >= 400);
}

function fieldsOf(event: EventOf<'request_answered'>): LogFields {
  const { requestId, tenant, caller, protocol, method, route, status, error, rows, format, details, trace } = event;
  const path = protocol === 'http' ? details.operation.slice(details.operation.indexOf(' ') + 1) : undefined;
  return {
    requestId,
    traceId: trace?.traceId,
    protocol,
    method,
    route,
    // The route says it already, unless it has parameters.
    path: path === route ? undefined : path,
    status,
    code: error?.code,
    durationMs: roundMs(event.durationMs),
    firstByteMs: roundMs(event.firstByteMs),
    requestBytes: event.requestBytes,
    responseBytes: event.responseBytes,
    rows,
    format,
    tenant,
    caller,
    client: details.client?.address,
    userAgent: details.userAgent,
  };
}
