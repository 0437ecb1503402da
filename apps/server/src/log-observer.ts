import type { ErrorCode, ServiceError } from '@svc/errors';
import type { Observer, ServiceEvent } from '@svc/service';
import type { Log, LogFields } from './log.ts';

/** What the operator should look at; everything else is the client's own doing or passes by itself. */
const FAULTS: ReadonlySet<ErrorCode> = new Set(['internal', 'tsdb_failed', 'deadline_exceeded', 'out_of_disk']);

function isFaultOf(error: ServiceError | undefined): boolean {
  // SQL that takes too long is whose it is; one that waits for the database has no text here.
  const isOwnSql = error?.code === 'deadline_exceeded' && error.query !== undefined;
  // A disk or an engine that does not work has a cause; a server that is stopping or too busy has none.
  const isBroken = error?.code === 'unavailable' && error.cause !== undefined;
  return error !== undefined && (isBroken || FAULTS.has(error.code)) && !isOwnSql;
}

/** Turns events into log lines: changes as info, faults of the server or the database as errors, the rest as debug. */
export function createLogObserver(log: Log): Observer {
  return (event) => {
    switch (event.kind) {
      case 'frame_put':
      case 'frame_appended':
      case 'frame_dropped':
      case 'frame_expiry_set':
        log.info(event.kind, fieldsOf(event));
        break;
      case 'frame_opened':
      case 'query_answered':
      case 'query_forwarded':
        if (log.isDebugging) log.debug(event.kind, fieldsOf(event));
        break;
      case 'tsdb_refused_credentials':
        log.error(
          'The time-series database refused the credentials of tsdb.user, tsdb.password or tsdb.token.',
          fieldsOf(event),
        );
        break;
      case 'request_answered': {
        const { error, ...answer } = event;
        const isFault = isFaultOf(error);
        if (!isFault && !log.isDebugging) break;
        log[isFault ? 'error' : 'debug'](event.kind, {
          ...fieldsOf(answer),
          ...(error && errorFields(error, isFault)),
        });
      }
    }
  };
}

function fieldsOf(event: ServiceEvent): LogFields {
  const fields: Record<string, unknown> = { ...event };
  delete fields['kind'];
  if ('durationMs' in event) fields['durationMs'] = Math.round(event.durationMs * 1000) / 1000;
  return fields;
}

function errorFields(error: ServiceError, isFault: boolean): LogFields {
  const cause = isFault && error.cause !== undefined ? { cause: causeText(error.cause) } : {};
  return { code: error.code, error: error.message, ...cause };
}

/** The stack of the failure and of those behind it. */
function causeText(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const own = cause.stack ?? String(cause);
  return cause.cause === undefined ? own : `${own}\nCaused by: ${causeText(cause.cause)}`;
}
