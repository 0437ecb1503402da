import type { Finding, LoadedConfig } from '@svc/config';
import type { Observer } from '@svc/service';
import { openAuditFile } from './audit-file.ts';
import { createAuditObserver, writeToLog } from './audit-log.ts';
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
