import type { ErrorCode } from '@svc/errors';

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
