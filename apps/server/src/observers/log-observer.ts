import type { Config } from '@svc/config';
import type { ErrorCode, ServiceError } from '@svc/errors';
import type { EventOf, Observer, ServiceEvent } from '@svc/service';
import { type Log, type LogFields, roundMs } from './log.ts';

/** Errors for the operator; all others are caused by the client or are transient. */
const FAULTS: ReadonlySet<ErrorCode> = new Set([
  'internal',
  'tsdb_failed',
  'scheduler_failed',
  'deadline_exceeded',
  'out_of_disk',
]);

function isFaultOf(error: ServiceError | undefined): boolean {
  // Slow SQL over frames is the client's own; a timeout of the database has no query text.
  const isOwnSql = error?.code === 'deadline_exceeded' && error.query !== undefined;
  // A broken disk or engine has a cause; a stopping or busy server has none.
  const isBroken = error?.code === 'unavailable' && error.cause !== undefined;
  return error !== undefined && (isBroken || FAULTS.has(error.code)) && !isOwnSql;
}

/** Turns events into log lines: changes as info, faults of the server or the database as errors, the rest as debug. */
export function createLogObserver(log: Log): Observer {
  return (event) => {
    switch (event.kind) {
      case 'frame_put':
      case 'frame_appended':
      case 'frame_renamed':
      case 'frame_dropped':
      case 'frame_expired':
      case 'frame_expiry_set':
      case 'caller_refused':
      case 'callers_loaded':
      case 'keys_loaded':
      case 'certificate_loaded':
        log.info(event.kind, fieldsOf(event));
        break;
      // Written by the audit log.
      case 'audited':
        break;
      case 'frame_opened':
      case 'query_forwarded':
        if (log.isDebugging) log.debug(event.kind, fieldsOf(event));
        break;
      case 'query_ended':
        if (log.isDebugging) log.debug(event.kind, queryFields(event));
        break;
      case 'tsdb_refused_credentials':
        log.error(
          'The time-series database refused the credentials of tsdb.user, tsdb.password or tsdb.token.',
          fieldsOf(event),
        );
        break;
      case 'scheduler_not_stopping':
        log.warn('The cluster of scheduler.url does not stop a statement that was cancelled.', fieldsOf(event));
        break;
      case 'callers_refused':
        log.error(`${event.reason} The callers that were read before stay in force.`);
        break;
      case 'keys_refused':
        log.error(`The keys of ${event.source} cannot be loaded. ${event.reason} Those from before stay in force.`);
        break;
      case 'certificate_refused':
        log.error(`${event.reason} The certificate from before stays in use.`);
        break;
      case 'request_started':
      case 'engine_child_answered':
      case 'engine_child_started':
        break;
      case 'engine_child_exited':
        logExit(log, event);
        break;
      case 'request_answered': {
        const { error } = event;
        const isFault = isFaultOf(error);
        if (!isFault && !log.isDebugging) break;
        log[isFault ? 'error' : 'debug'](event.kind, {
          ...requestFields(event),
          ...(error && errorFields(error, isFault)),
        });
      }
    }
  };
}

/** A fault of the engine is for the operator; other ends of its processes are part of the work. */
function logExit(log: Log, { kind, child, reason, requests }: EventOf<'engine_child_exited'>): void {
  const isFault = reason === 'crashed' || reason === 'hung' || reason === 'out_of_memory';
  // A line for each request: a search for its id must find it.
  const lines = requests.map(({ requestId, trace }) => ({ requestId, ...(trace && { traceId: trace.traceId }) }));
  for (const request of lines.length === 0 ? [{}] : lines) {
    const fields = { child, reason, ...request };
    if (isFault) log.warn('A process of the engine has ended; another takes its place.', fields);
    else log.debug(kind, fields);
  }
}

function fieldsOf(event: ServiceEvent): LogFields {
  const fields: Record<string, unknown> = { ...event };
  delete fields['kind'];
  for (const name of ['durationMs', 'receiveMs', 'waitMs', 'executeMs']) {
    const ms = fields[name];
    if (typeof ms === 'number') fields[name] = roundMs(ms);
  }
  if ('client' in event) fields['client'] = event.client?.address;
  if ('trace' in event) {
    delete fields['trace'];
    fields['traceId'] = event.trace?.traceId;
  }
  return fields;
}

/** Returns the fields of a line about a statement, with its SQL without values. */
function queryFields(event: EventOf<'query_ended'>): LogFields {
  return { ...fieldsOf(event), fingerprint: event.fingerprint() };
}

function requestFields(event: EventOf<'request_answered'>): LogFields {
  const { requestId, protocol, route, status, durationMs, details, trace } = event;
  const traced = trace && { traceId: trace.traceId };
  return {
    requestId,
    protocol,
    operation: details.operation,
    route,
    status,
    durationMs: roundMs(durationMs),
    ...traced,
  };
}

function errorFields(error: ServiceError, isFault: boolean): LogFields {
  const cause = isFault && error.cause !== undefined ? { cause: causeText(error.cause) } : {};
  return { code: error.code, error: error.message, ...cause };
}

/** Formats the stack of an error and of its causes. */
function causeText(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const own = cause.stack ?? String(cause);
  return cause.cause === undefined ? own : `${own}\nCaused by: ${causeText(cause.cause)}`;
}

/** Writes one line for each request, or for the failed ones. Returns undefined if the access log is off. */
export function createAccessLog(
  log: Pick<Log, 'always'>,
  { access, access_sample: share }: Pick<Config['logging'], 'access' | 'access_sample'>,
): Observer | undefined {
  if (access === 'off') return undefined;
  return (event) => {
    if (event.kind !== 'request_answered') return;
    const isLogged = hasFailed(event) || (access === 'all' && (share === 1 || Math.random() < share));
    if (isLogged) log.always('access', accessFields(event));
  };
}

/**
 * True for a failed request. A mistake of the client is a failure, too: no other line shows it. A response of the
 * time-series database has only its status.
 */
function hasFailed({ error, status }: EventOf<'request_answered'>): boolean {
  return error !== undefined || (typeof status === 'number' && status >= 400);
}

function accessFields(event: EventOf<'request_answered'>): LogFields {
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

/**
 * Logs statements of at least `slowMs`, from their start to the end of their response. The line has the SQL without its
 * values. Undefined: no statement is slow.
 */
export function createSlowQueryLog(log: Log, slowMs: number | undefined): Observer {
  return (event) => {
    if (slowMs === undefined || event.kind !== 'query_ended' || event.durationMs < slowMs) return;
    log.warn('slow_query', queryFields(event));
  };
}
