import { appendFileSync, constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';

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
  /** The new handle of a frame that is renamed. */
  newHandle?: string;
  /** `ok`, or the code of the error. */
  outcome: string;
  /** Why credentials were refused. */
  reason?: string;
  /** The address of a client without valid credentials. Missing if it is not known. */
  client?: string;
  /** The number of refusals that the line stands for; the other fields are those of the last one. Missing: 1. */
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
  /** Called with lines that could not be written to the file. No line is ever dropped. */
  readonly onFailure: (lines: readonly AuditLine[], error: unknown) => void;
}

/** How many lines may wait for a disk that does not respond; further ones fail at once. */
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
  /** Whether the last write has failed, perhaps in the middle of a line. */
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

  /** At an exit that waits for nothing. A line in flight may be written twice, but none is lost. */
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

/** Whether the path still names the open file. */
async function isCurrent(file: FileHandle, path: string): Promise<boolean> {
  const [opened, named] = await Promise.all([file.stat(), stat(path).catch(() => undefined)]);
  return opened.dev === named?.dev && opened.ino === named.ino;
}

function textOf(lines: readonly AuditLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}
