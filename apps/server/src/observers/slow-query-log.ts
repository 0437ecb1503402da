import type { Observer } from '@svc/service';
import type { Log } from './log.ts';
import { queryFields } from './log-observer.ts';

/**
 * Logs statements that took at least `slowMs`, from their start to the end of their response. The line has the SQL without
 * its values. Undefined: no statement is slow.
 */
export function createSlowQueryLog(log: Log, slowMs: number | undefined): Observer {
  return (event) => {
    if (slowMs === undefined || event.kind !== 'query_ended' || event.durationMs < slowMs) return;
    log.warn('slow_query', queryFields(event));
  };
}
