import { toServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import type { SqlTarget } from './engine-names.ts';
import type { Observer } from './events.ts';
import { requiredPermissions } from './required-permissions.ts';
import type { OperationName } from './service.ts';

/** Reports what the audit must show. */
export interface Audit {
  /** Runs a write of a frame, and reports how it ended. */
  write<T>(call: Call, operation: OperationName, handle: string, work: () => Promise<T>): Promise<T>;
  /** Runs the check of a permission. Reports a refused write: it does not reach the operation, and its handle is unknown. */
  check(call: Call, operation: OperationName, target: SqlTarget | undefined, work: () => void): void;
  /** Reports a use of the permission `admin`. */
  admin(call: Call, operation: string): void;
}

/** Longer handles are not valid. Those of refused writes may be. */
const MAX_HANDLE_LENGTH = 128;

/** Creates the audit of a service. */
export function createAudit(observe: Observer): Audit {
  function report(
    { requestId, tenant, caller }: Call,
    operation: string,
    handle: string | null,
    error?: unknown,
  ): void {
    observe({
      kind: 'audited',
      requestId,
      tenant,
      caller: caller?.id ?? null,
      operation,
      handle: handle?.slice(0, MAX_HANDLE_LENGTH) ?? null,
      outcome: error === undefined ? 'ok' : toServiceError(error).code,
    });
  }

  return {
    async write(call, operation, handle, work) {
      let result;
      try {
        result = await work();
      } catch (error) {
        report(call, operation, handle, error ?? new Error('unknown'));
        throw error;
      }
      report(call, operation, handle);
      return result;
    },
    check(call, operation, target, work) {
      try {
        work();
      } catch (error) {
        if (requiredPermissions(operation, target).includes('write')) report(call, operation, null, error);
        throw error;
      }
    },
    admin: (call, operation) => report(call, operation, null),
  };
}
