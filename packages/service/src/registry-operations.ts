import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { Call } from '@svc/frames';
import type { Audit } from './audit.ts';
import type { SqlTarget } from './engine-names.ts';
import { isAllowed } from './required-permissions.ts';
import type { RunningQueries } from './running/running-queries.ts';
import type { QueryInfo } from './running/running-query.ts';
import type { OperationName, Service } from './service.ts';

/** Dependencies of the operations on running SQL. */
export interface RegistryParts {
  readonly running: RunningQueries;
  /** Throws if the caller is not authenticated. */
  readonly authorize: (call: Call, operation: OperationName) => void;
  readonly audit: Pick<Audit, 'useAdmin'>;
}

type RegistryOperations = Pick<Service, 'cancelQuery' | 'findQuery' | 'listQueries'>;

/** Creates the operations that show and cancel running SQL. They also work while the service stops. */
export function createRegistryOperations({ running, authorize, audit }: RegistryParts): RegistryOperations {
  /** Returns which statements a caller may see: those of its tenant that it could run itself; with `admin`, all. */
  function visibleTo(call: Call, operation: OperationName): (query: QueryInfo) => boolean {
    authorize(call, operation);
    if (audit.useAdmin(call, operation)) return () => true;
    return ({ tenant, engine }) => tenant === call.tenant && canRun(call, engine);
  }

  return {
    async listQueries(call) {
      return running.list().filter(visibleTo(call, 'listQueries'));
    },
    async findQuery(call, id) {
      const isVisible = visibleTo(call, 'findQuery');
      return running.list().findLast((query) => query.id === id && isVisible(query)) ?? notRunning(id);
    },
    async cancelQuery(call, id) {
      const isVisible = visibleTo(call, 'cancelQuery');
      if (!running.cancel((query) => query.id === id && isVisible(query))) notRunning(id);
    },
  };
}

function canRun(call: Call, engine: SqlTarget): boolean {
  return engine === 'tsdb' ? isAllowed(call, 'forward') : isAllowed(call, 'query', engine);
}

function notRunning(id: string): never {
  throw new ServiceError('query_not_found', `There is no running query ${quoted(id)}.`);
}
