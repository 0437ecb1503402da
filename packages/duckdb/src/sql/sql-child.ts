import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, constants, setPriority } from 'node:os';
import type { ChildExitReason, StatementMonitor } from '@svc/frames';
import type { SqlResponses, SqlRequest } from '../wire/sql-requests.ts';
import { type ChildInDirectory, launchInDirectory } from '../engine/child-directory.ts';
import { ChildError } from '../engine/child-errors.ts';
import { type ChildLink, createChildLink, type ResponseHandlers } from '../engine/child-link.ts';
import { cpuTimeOf } from '../engine/child-watch.ts';
import { COMMON_SETTINGS, launchProgram } from '../engine/launch-child.ts';
import {
  download,
  type DownloadOptions,
  type OnSpans,
  type PendingRequest,
  type RequestContext,
  startRequest,
} from '../engine/pending-request.ts';
import { reservedBytes } from '../engine/reserved-bytes.ts';
import { sqlText } from '../wire/sql-names.ts';

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

/** The resource limits of a statement. */
export interface SqlChildOptions {
  /** Where statements spill data that does not fit into memory, each into a private directory. */
  readonly tempDirectory: string;
  /** The memory limit of one statement. Default 1 GiB. */
  readonly memoryBytes?: number;
  /** The spill limit of one statement. Default: ten times its memory. */
  readonly maxTempBytes?: number;
  /** The number of threads of one statement. Default: one per core. */
  readonly threads?: number;
}

const DEFAULT_MEMORY_BYTES = 1024 ** 3;
/** Additional memory for Node and everything that DuckDB does not count. */
const OVERHEAD_BYTES = 512 * 1024 ** 2;
/** The stack of a thread, which the system counts in full. */
const THREAD_BYTES = 8 * 1024 ** 2;
/** The system also counts freed memory that the allocator keeps for reuse. */
const COUNTED_AGAIN = 1.5;
/** Enough for one statement and the one that interrupts it. */
const POOL_THREADS = 4;

/** A child for client SQL, with its directory. */
interface LaunchedSqlChild extends ChildInDirectory {
  /** Whether another statement could still get its full memory: DuckDB does not always return what earlier ones used. */
  hasRoom(): boolean;
  readonly priority: ProcessPriority;
}

/** Starts a child for client SQL, in a private directory that is removed when it exits. */
function launchSqlChild(options: SqlChildOptions): LaunchedSqlChild {
  const { tempDirectory, memoryBytes = DEFAULT_MEMORY_BYTES, threads = availableParallelism() } = options;
  const { maxTempBytes = 10 * memoryBytes } = options;
  const maxBytes = COUNTED_AGAIN * memoryBytes + threads * THREAD_BYTES + OVERHEAD_BYTES;
  const launched = launchInDirectory(tempDirectory, DIRECTORY_PREFIX, (directory) =>
    launchProgram({
      settings: {
        settings: [
          ...COMMON_SETTINGS,
          `SET memory_limit = '${memoryBytes}B'`,
          `SET temp_directory = ${sqlText(directory)}`,
          `SET max_temp_directory_size = '${maxTempBytes}B'`,
          `SET threads = ${threads}`,
          'SET GLOBAL errors_as_json = true',
        ],
        isLocked: true,
      },
      maxBytes,
      poolThreads: POOL_THREADS,
      directory,
    }),
  );
  const { pid } = launched.process;
  return {
    ...launched,
    hasRoom: () => pid === undefined || countedBytes(pid) <= maxBytes - memoryBytes,
    priority: pid === undefined ? NO_PRIORITY : processPriority(pid),
  };
}

/** For a process that could not be started. */
const NO_PRIORITY: ProcessPriority = { lower: () => undefined, restore: () => true };

/** The name prefix of these children's directories. */
export const DIRECTORY_PREFIX = 'svc-sql-';

const { PRIORITY_NORMAL, PRIORITY_BELOW_NORMAL } = constants.priority;

/** The CPU priority of another process. */
export interface ProcessPriority {
  /** Lowers it below normal. */
  lower(): void;
  /** Restores it to normal. Returns false if the system does not allow it: on Linux this needs a privilege. */
  restore(): boolean;
}

/** Controls the priority of a process, which must be normal at first. */
export function processPriority(pid: number): ProcessPriority {
  let isLow = false;
  return {
    lower() {
      isLow = true;
      setAll(pid, PRIORITY_BELOW_NORMAL);
    },
    restore() {
      if (isLow) isLow = !setAll(pid, PRIORITY_NORMAL);
      return !isLow;
    },
  };
}

/** Sets the priority of a process. Returns whether it succeeded. */
function setAll(pid: number, priority: number): boolean {
  try {
    for (const id of threadsOf(pid)) setPriority(id, priority);
    return true;
  } catch {
    // The process has exited, or the system does not allow it.
    return false;
  }
}

/** The ids to set the priority of: on Linux each thread has its own, elsewhere only the process. */
function threadsOf(pid: number): readonly number[] {
  if (process.platform !== 'linux') return [pid];
  return readdirSync(`/proc/${pid}/task`).map(Number);
}

/**
 * The memory of a child as the system counts it, without the space that Node reserves; 0 if the system does not report
 * it.
 */
export function countedBytes(pid: number): number {
  try {
    const [, kibibytes] = /^VmData:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.max(0, Number(kibibytes ?? 0) * 1024 - reservedBytes());
  } catch {
    return 0;
  }
}
