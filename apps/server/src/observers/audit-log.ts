import type { EventSource, Observer, ServiceEvent } from '@svc/service';
import type { AuditFile, AuditLine } from './audit-file.ts';
import type { Log } from './log.ts';

/** Writes the events that belong to the audit to a file, or to the log if there is none, whatever its level. */
export function createAuditObserver(log: Log, file: Pick<AuditFile, 'write'> | undefined): Observer {
  return (event) => {
    const line = lineOf(event);
    if (line === undefined) return;
    if (file === undefined) writeToLog(log, line);
    else file.write(line);
  };
}

/** Writes a line of the audit to the log. */
export function writeToLog(log: Log, { time: _time, ...fields }: AuditLine): void {
  log.always('audit', fields);
}

function lineOf(event: ServiceEvent): AuditLine | undefined {
  // Most events leave no line: they must cost nothing.
  if (event.kind !== 'audited' && event.kind !== 'caller_refused') return undefined;
  const time = new Date().toISOString();
  if (event.kind === 'audited') {
    const { requestId, tenant, caller, operation, handle, newHandle, outcome } = event;
    const names = { handle, ...(newHandle !== undefined && { newHandle }) };
    return { time, requestId, ...traceIdOf(event), tenant, caller, operation, ...names, outcome };
  }
  const { requestId, operation, reason, client, count } = event;
  const nothing = { tenant: null, caller: null, handle: null };
  const known = { ...(client && { client: client.address }), ...(count !== undefined && { count }) };
  return { time, requestId, ...traceIdOf(event), ...nothing, operation, outcome: 'unauthenticated', reason, ...known };
}

function traceIdOf({ trace }: Pick<EventSource, 'trace'>): { readonly traceId?: string } {
  return trace === undefined ? {} : { traceId: trace.traceId };
}
