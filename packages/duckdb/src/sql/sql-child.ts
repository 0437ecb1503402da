import type { ChildExitReason, StatementMonitor } from '@svc/frames';
import type { SqlResponses, SqlRequest } from '../wire/sql-requests.ts';
import {
  download,
  type DownloadOptions,
  type OnSpans,
  type PendingRequest,
  type RequestContext,
  startRequest,
} from '../engine/pending-request.ts';
import { type ChildLink, createChildLink, type ResponseHandlers } from '../engine/child-link.ts';
import { ChildError } from '../engine/child-errors.ts';
import { cpuTimeOf } from '../engine/child-watch.ts';
import { launchSqlChild, type SqlChildOptions } from './launch-sql-child.ts';
import type { ProcessPriority } from './process-priority.ts';

type RequestOf<Op extends SqlRequest['op']> = Extract<SqlRequest, { op: Op }>;

/** Called with the progress of a request, a few times a second. */
export type OnProgress = StatementMonitor['progressed'];

/** The context of a request of a statement. */
export interface StatementContext extends Pick<RequestContext, 'origin'> {
  readonly signal: AbortSignal;
  readonly onProgress?: OnProgress | undefined;
}

/** A locked child. It processes one request at a time. */
export interface SqlChild {
  readonly pid: number | undefined;
  readonly isAlive: boolean;
  /** Whether there is enough memory for another statement. */
  hasRoom(): boolean;
  /** The CPU time that it has used, in milliseconds; undefined if the system does not report it. */
  cpuMs(): number | undefined;
  readonly priority: ProcessPriority;
  /** The tenant whose statements it runs. From the first statement on, it serves no other tenant. */
  tenant: string | undefined;
  call<Op extends Exclude<SqlRequest['op'], 'rows'>>(
    request: RequestOf<Op>,
    context: StatementContext,
  ): Promise<SqlResponses[Op]>;
  /** Yields the batches of a statement with backpressure. */
  rows(
    request: RequestOf<'rows'>,
    options: DownloadOptions & StatementContext,
  ): AsyncGenerator<ArrayBuffer, number, undefined>;
  /** Resolves when the last request is done or the child has exited. */
  settled(): Promise<void>;
  /** Ends it and removes its directory. Default reason: `stopped`. */
  close(reason?: ChildExitReason): Promise<void>;
}

/** Linux reports CPU time in hundredths of a second. */
const TICK_MS = 10;

/** Starts a locked child. `onSpans`: called with the spans of its work on requests that are traced. */
export function createSqlChild(
  options: SqlChildOptions & { readonly onSpans?: OnSpans | undefined },
): SqlChild & Pick<ChildLink, 'exited'> {
  const { onSpans } = options;
  const launched = launchSqlChild(options);
  const link = createChildLink(() => launched);
  let last: Promise<unknown> = Promise.resolve();

  function begin<Response>(
    request: SqlRequest,
    { signal, origin, onProgress }: StatementContext,
    handlers: Partial<ResponseHandlers> = {},
  ): PendingRequest<Response> {
    signal.throwIfAborted();
    const all = onProgress === undefined ? handlers : { ...handlers, progress: onProgress };
    const running = startRequest<Response>(link, request, { signal, origin, onSpans }, all);
    // The caller handles the failure through `response`.
    last = running.response.catch((error: unknown) => {
      if (isSpoilt(error)) return link.close('recycled');
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
    call: async <Op extends Exclude<SqlRequest['op'], 'rows'>>(request: RequestOf<Op>, context: StatementContext) =>
      begin<SqlResponses[Op]>(request, context).response,
    rows: (request, { reuseBuffers, ...context }) =>
      download((handlers) => begin<SqlResponses['rows']>(request, context, handlers), { reuseBuffers }),
    async settled() {
      await last;
    },
    exited: link.exited,
    close: (reason) => link.close(reason),
  };
}

/** After an internal or fatal error, DuckDB refuses every later statement. */
function isSpoilt(error: unknown): boolean {
  const failure = error instanceof ChildError ? error.failure : undefined;
  return failure?.code === 'sql_fault' && (failure.kind === 'INTERNAL' || failure.kind === 'FATAL');
}
