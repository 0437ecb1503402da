import type { Finding, LoadedConfig } from '@svc/config';
import type { EventSource, Observer, ServiceEvent } from '@svc/service';
import { type AuditFile, type AuditLine, openAuditFile } from './audit-file.ts';
import type { Log } from './log.ts';

/** The audit of a server: it observes events, and is closed when all of them are written. */
export interface OpenedAudit {
  readonly observe: Observer;
  close(): Promise<void>;
}

/**
 * Opens the audit of a configuration: `logging.audit_file`, else the log if requests are authenticated, else nothing.
 * Returns the problem if the file cannot be opened.
 */
export async function openAudit(
  { config, sources }: LoadedConfig,
  log: Log,
): Promise<OpenedAudit | { readonly problem: Finding }> {
  const { audit_file: path } = config.logging;
  if (path === undefined) {
    const observe = config.auth.mode === 'none' ? () => undefined : createAuditObserver(log, undefined);
    return { observe, close: async () => undefined };
  }
  try {
    const file = await openAuditFile(path, {
      onFailure(lines, error) {
        log.error('The audit file cannot be written; its lines are in the log.', { path, cause: String(error) });
        for (const line of lines) writeToLog(log, line);
      },
    });
    return { observe: createAuditObserver(log, file), close: () => file.close() };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `The audit file ${JSON.stringify(path)} cannot be opened: ${reason}.`;
    const hint = 'Name a file in a directory that this user can write to.';
    return { problem: { source: sources.logging.audit_file, setting: 'logging.audit_file', message, hint } };
  }
}

/** Writes the events that belong to the audit to a file, or to the log if there is none, whatever its level. */
function createAuditObserver(log: Log, file: Pick<AuditFile, 'write'> | undefined): Observer {
  return (event) => {
    const line = lineOf(event);
    if (line === undefined) return;
    if (file === undefined) writeToLog(log, line);
    else file.write(line);
  };
}

/** Writes a line of the audit to the log. */
function writeToLog(log: Log, { time: _time, ...fields }: AuditLine): void {
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
