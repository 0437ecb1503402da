import type { SqlResponses, SqlRequest } from '../wire/sql-requests.ts';
import { download, type DownloadOptions, type PendingRequest, startRequest } from '../engine/pending-request.ts';
import { createChildLink, type ResponseHandlers } from '../engine/child-link.ts';
import { ChildError } from '../engine/child-errors.ts';
import { cpuTimeOf } from '../engine/child-watch.ts';
import { launchSqlChild, type SqlChildOptions } from './launch-sql-child.ts';
import type { ProcessPriority } from './process-priority.ts';

type RequestOf<Op extends SqlRequest['op']> = Extract<SqlRequest, { op: Op }>;

/** A locked child. It answers one request at a time. */
export interface SqlChild {
  readonly pid: number | undefined;
  readonly isAlive: boolean;
  /** Whether there is enough memory for another statement. */
  hasRoom(): boolean;
  /** How much CPU time it has used, in milliseconds; undefined if the system does not tell. */
  cpuMs(): number | undefined;
  readonly priority: ProcessPriority;
  /** Whose statements it has answered: from the first on it takes no others'. */
  tenant: string | undefined;
  call<Op extends Exclude<SqlRequest['op'], 'rows'>>(
    request: RequestOf<Op>,
    signal: AbortSignal,
  ): Promise<SqlResponses[Op]>;
  /** The batches of a statement, only as fast as they are taken. */
  rows(
    request: RequestOf<'rows'>,
    options: DownloadOptions & { readonly signal: AbortSignal },
  ): AsyncGenerator<ArrayBuffer, number, undefined>;
  /** Resolves when what was asked last is answered, or the child has ended. */
  settled(): Promise<void>;
  /** Ends it, with the folder it has. */
  close(): Promise<void>;
}

/** Linux counts CPU time in hundredths of a second for all programs. */
const TICK_MS = 10;

/** Starts a locked child. */
export function createSqlChild(options: SqlChildOptions): SqlChild {
  const launched = launchSqlChild(options);
  const link = createChildLink(() => launched);
  let last: Promise<unknown> = Promise.resolve();

  function begin<Response>(
    request: SqlRequest,
    signal: AbortSignal,
    handlers: Partial<ResponseHandlers> = {},
  ): PendingRequest<Response> {
    signal.throwIfAborted();
    const running = startRequest<Response>(link, request, signal, handlers);
    // Whoever asked hears of the failure.
    last = running.response.catch((error: unknown) => {
      if (isSpoilt(error)) return link.close();
      return undefined;
    });
    return running;
  }

  return {
    pid: link.pid,
    get isAlive() {
      return link.isAlive;
    },
    hasRoom: () => launched.hasRoom(),
    cpuMs() {
      const ticks = link.pid === undefined ? undefined : cpuTimeOf(link.pid);
      return ticks === undefined ? undefined : ticks * TICK_MS;
    },
    priority: launched.priority,
    tenant: undefined,
    call: async <Op extends Exclude<SqlRequest['op'], 'rows'>>(request: RequestOf<Op>, signal: AbortSignal) =>
      begin<SqlResponses[Op]>(request, signal).response,
    rows: (request, { signal, ...reading }) =>
      download((handlers) => begin<SqlResponses['rows']>(request, signal, handlers), reading),
    async settled() {
      await last;
    },
    close: () => link.close(),
  };
}

/** After a failure that should not be, DuckDB refuses everything else. */
function isSpoilt(error: unknown): boolean {
  const failure = error instanceof ChildError ? error.failure : undefined;
  return failure?.code === 'sql_fault' && (failure.kind === 'INTERNAL' || failure.kind === 'FATAL');
}
