import { appendFileSync, constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import type { Finding, LoadedConfig } from '@svc/config';
import type { EventSource, Observer, ServiceEvent } from '@svc/service';
import type { Log } from './log.ts';

/**
 * Opens the audit of a configuration: `logging.audit_file`, else the log if requests are authenticated, else nothing.
 * Returns the problem if the file cannot be opened.
 */
export async function openAudit(
  { config, sources }: LoadedConfig,
  log: Log,
): Promise<{ readonly observe: Observer; readonly close: () => Promise<void> } | { readonly problem: Finding }> {
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

/** Writes the events of the audit to a file, or to the log if there is none, whatever its level. */
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

/** A line of the audit: who did what, and how it ended. */
export type AuditLine = Readonly<{
  time: string;
  requestId: string;
  /** Missing if the request is in no distributed trace. */
  traceId?: string;
  /** Null if the request has no valid credentials. */
  tenant: string | null;
  caller: string | null;
  operation: string | null;
  handle: string | null;
  /** The new handle of a renamed frame. */
  newHandle?: string;
  /** `ok`, or the code of the error. */
  outcome: string;
  /** Why credentials were refused. */
  reason?: string;
  /** The address of a client without valid credentials. Missing if it is not known. */
  client?: string;
  /** The line stands for this number of refusals; the other fields are those of the last one. Missing: 1. */
  count?: number;
}>;

/** A file of audit lines, in JSON. Writing does not wait for the disk. */
export interface AuditFile {
  write(line: AuditLine): void;
  /** Resolves when all lines are written. */
  close(): Promise<void>;
}

/** Options of `openAuditFile`. */
export interface AuditFileOptions {
  /** Called with lines after a failed write. No line is ever dropped. */
  readonly onFailure: (lines: readonly AuditLine[], error: unknown) => void;
}

/** The most lines in the queue if the disk does not respond; further ones fail at once. */
const MAX_WAITING = 10_000;

/**
 * Opens a file for appending; it is created with mode 0600 if it does not exist. If it is renamed or removed, as by
 * logrotate, the next lines go to a new file of the name. Throws the system error if it cannot be opened.
 */
export async function openAuditFile(path: string, { onFailure }: AuditFileOptions): Promise<AuditFile> {
  let file: FileHandle | undefined = await openFile(path);
  let waiting: AuditLine[] = [];
  let inFlight: readonly AuditLine[] = [];
  let writing: Promise<void> | undefined;
  /** The last write has failed, perhaps in the middle of a line. */
  let isCut = false;

  async function append(lines: readonly AuditLine[]): Promise<void> {
    try {
      if (file !== undefined && !(await isCurrent(file, path))) {
        await file.close();
        file = undefined;
      }
      file ??= await openFile(path);
      await file.appendFile(`${isCut ? '\n' : ''}${textOf(lines)}`);
      isCut = false;
    } catch (error) {
      isCut = true;
      onFailure(lines, error);
    }
  }

  async function writeWaiting(): Promise<void> {
    while (waiting.length > 0) {
      inFlight = waiting;
      waiting = [];
      await append(inFlight);
      inFlight = [];
    }
    writing = undefined;
  }

  /** At an immediate exit. A line in flight may be written twice, but none is lost. */
  function writeAtExit(): void {
    const left = [...inFlight, ...waiting];
    if (left.length === 0) return;
    try {
      appendFileSync(path, `${isCut || inFlight.length > 0 ? '\n' : ''}${textOf(left)}`, { mode: 0o600 });
    } catch (error) {
      onFailure(left, error);
    }
  }
  process.once('exit', writeAtExit);

  return {
    write(line) {
      if (waiting.length >= MAX_WAITING) return onFailure([line], new Error('The disk does not respond.'));
      waiting.push(line);
      writing ??= writeWaiting();
      return undefined;
    },
    async close() {
      await writing;
      process.off('exit', writeAtExit);
      await file?.close();
      file = undefined;
    },
  };
}

/** Opening a FIFO without a reader must fail, and not block. */
const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;

function openFile(path: string): Promise<FileHandle> {
  return open(path, O_APPEND | O_CREAT | O_NONBLOCK | O_WRONLY, 0o600);
}

/** True if the path still names the open file. */
async function isCurrent(file: FileHandle, path: string): Promise<boolean> {
  const [opened, named] = await Promise.all([file.stat(), stat(path).catch(() => undefined)]);
  return opened.dev === named?.dev && opened.ino === named.ino;
}

function textOf(lines: readonly AuditLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}
