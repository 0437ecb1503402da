import type { Permission } from '@svc/auth';
import { type ErrorCode, toServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import type { TsdbResponse } from '@svc/tsdb-proxy';
import type { SqlTarget } from './engines.ts';
import { type Observer, outcomeOfStatus } from './events.ts';
import { requiredPermissions } from './permissions.ts';
import type { OperationName } from './service.ts';

/** Reports what the audit must show. */
export interface Audit {
  /** Runs a write of a frame, and reports how it ended. `newHandle`: of a rename. */
  write<T>(
    call: Call,
    operation: OperationName,
    handle: string,
    work: () => Promise<T>,
    newHandle?: string,
  ): Promise<T>;
  /** Runs the part of a write before its frames are known, and reports it if it fails. */
  refused<T>(call: Call, operation: OperationName, work: () => Promise<T>): Promise<T>;
  /**
   * Forwards SQL to the time-series database, and reports the end: the SQL may write there, and is not parsed here.
   */
  forward(call: Call, operation: OperationName, work: () => Promise<TsdbResponse>): Promise<TsdbResponse>;
  /**
   * Runs the check of a permission. Reports a refused write, or refused SQL for the database: it does not reach the
   * operation, and its handle is unknown.
   */
  check(call: Call, operation: OperationName, target: SqlTarget | undefined, work: () => void): void;
  /** Returns true if the caller has the permission `admin`, and reports its use. */
  useAdmin(call: Call, operation: string): boolean;
}

/** Longer handles are not valid. Those of refused writes may be. */
const MAX_HANDLE_LENGTH = 128;

/** The permissions of what can change data, here or in the database. */
const AUDITED: ReadonlySet<Permission> = new Set(['write', 'tsdb']);

/** Creates the audit of a service. */
export function createAudit(observe: Observer): Audit {
  function report(
    { requestId, tenant, caller, trace }: Call,
    operation: string,
    handle: string | null,
    outcome: 'ok' | ErrorCode = 'ok',
    newHandle?: string,
  ): void {
    observe({
      kind: 'audited',
      requestId,
      tenant,
      caller: caller?.id ?? null,
      operation,
      handle: handle?.slice(0, MAX_HANDLE_LENGTH) ?? null,
      ...(newHandle !== undefined && { newHandle: newHandle.slice(0, MAX_HANDLE_LENGTH) }),
      outcome,
      ...(trace && { trace }),
    });
  }

  async function run<T>(
    call: Call,
    operation: OperationName,
    handle: string | null,
    work: () => Promise<T>,
    newHandle?: string,
    outcomeOf?: (result: T) => 'ok' | ErrorCode,
  ): Promise<T> {
    let result;
    try {
      result = await work();
    } catch (error) {
      report(call, operation, handle, toServiceError(error).code, newHandle);
      throw error;
    }
    report(call, operation, handle, outcomeOf?.(result), newHandle);
    return result;
  }

  return {
    write: (call, operation, handle, work, newHandle) => run(call, operation, handle, work, newHandle),
    async refused(call, operation, work) {
      try {
        return await work();
      } catch (error) {
        report(call, operation, null, toServiceError(error).code);
        throw error;
      }
    },
    forward: (call, operation, work) =>
      run(call, operation, null, work, undefined, ({ status }) => outcomeOfStatus(status)),
    check(call, operation, target, work) {
      try {
        work();
      } catch (error) {
        const isAudited = requiredPermissions(operation, target).some((name) => AUDITED.has(name));
        if (isAudited) report(call, operation, null, toServiceError(error).code);
        throw error;
      }
    },
    useAdmin(call, operation) {
      const isAdmin = call.caller?.permissions.has('admin') ?? false;
      if (isAdmin) report(call, operation, null);
      return isAdmin;
    },
  };
}
