import { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import type { SqlTarget } from '../engine-names.ts';
import type { Observer } from '../events.ts';
import { createRunningQuery, type QueryInfo, type ResultLimits, type RunningQuery } from './running-query.ts';

/** The registry of the statements that run now. */
export interface RunningQueries {
  /** Adds a statement, until its `end`. Throws `too_many_requests` if its tenant runs too many. */
  begin(call: Call, sql: string, engine: SqlTarget): RunningQuery;
  /** Returns the statements, oldest first. */
  list(): readonly QueryInfo[];
  /** Cancels the statements that `isMeant` accepts. Returns whether there were any. */
  cancel(isMeant: (query: QueryInfo) => boolean): boolean;
}

/** Dependencies of the registry. */
export interface RunningQueriesParts {
  readonly observe: Observer;
  /** Counts a statement of a tenant as running until the function that it returns is called. Undefined: no limit. */
  readonly startQuery: (tenant: string) => (() => void) | undefined;
  /** Returns the limits of a tenant's results. */
  readonly limitsOf: (tenant: string) => ResultLimits;
}

/** Creates an empty registry. */
export function createRunningQueries({ observe, startQuery, limitsOf }: RunningQueriesParts): RunningQueries {
  const running = new Set<RunningQuery>();

  return {
    begin(call, sql, engine) {
      let release: (() => void) | undefined;
      const onEnd = (): void => {
        running.delete(query);
        release?.();
      };
      const query = createRunningQuery(call, { sql, engine, observe, limits: limitsOf(call.tenant), onEnd });
      running.add(query);
      try {
        release = startQuery(call.tenant);
      } catch (error) {
        query.end(error);
        throw error;
      }
      return query;
    },
    list: () => Array.from(running, (query) => query.info()),
    cancel(isMeant) {
      const meant = [...running].filter((query) => isMeant(query.info()));
      for (const query of meant) query.cancel(CANCELLED);
      return meant.length > 0;
    },
  };
}

const CANCELLED = new ServiceError('cancelled', 'The query was cancelled by another request.', {
  hint: 'Send it again if you still need the result. DELETE /queries/{id} cancels queries of the same tenant.',
});
