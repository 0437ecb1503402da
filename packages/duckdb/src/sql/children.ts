import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, constants, setPriority } from 'node:os';
import { onAbort, ServiceError, toServiceError } from '@svc/errors';
import type { ChildExitReason, StatementMonitor } from '@svc/frames';
import { ChildError } from '../child-link/child-errors.ts';
import { type ChildLink, cpuTimeOf, createChildLink, type ResponseHandlers } from '../child-link/child-link.ts';
import {
  COMMON_SETTINGS,
  type LaunchedChild,
  launchInDirectory,
  launchProgram,
  reservedBytes,
} from '../child-link/child-process.ts';
import {
  download,
  type DownloadOptions,
  type OnSpans,
  type PendingRequest,
  type RequestContext,
  startRequest,
} from '../child-link/pending-request.ts';
import type { SqlRequest, SqlResponses } from '../wire/requests.ts';
import { sqlText } from '../wire/sql-names.ts';
import {
  createSqlQueue,
  longAfterMs,
  type QueueOptions,
  type Slot,
  type SlotRequest,
  startClock,
  whenReached,
} from './queue.ts';

/** A slot of the queue and a child for it. */
export interface ChildSlot extends Pick<Slot, 'interrupted' | 'ranMs' | 'beginSending'> {
  readonly child: SqlChild;
  /** Starts the clock of the statement. A long one gets a lower CPU priority than short ones and reads of frames. */
  begin(): void;
  /** Releases slot and child when the last request is done. */
  free(): void;
}

/** The children of an engine. A child serves one tenant only. */
export interface SqlChildren {
  /** Waits for a slot and returns it with a child. */
  take(request: SlotRequest, signal: AbortSignal): Promise<ChildSlot>;
  /** Returns the number of children, busy or idle. */
  size(): number;
  close(): Promise<void>;
}

/** Options of `createSqlChildren`. */
export interface SqlChildrenOptions extends QueueOptions {
  readonly start: () => SqlChild;
  /** How long an idle child is kept. */
  readonly idleMs: number;
  /** When the first child is started, unless a statement needs it earlier. */
  readonly startAheadMs: number;
}

/** Creates the children of an engine. One spare child is always started ahead. */
export function createSqlChildren(options: SqlChildrenOptions): SqlChildren {
  const { start, maxConcurrent, idleMs, startAheadMs } = options;
  const longMs = longAfterMs(options.shortMs);
  const queue = createSqlQueue(options);
  /** Idle children; once used, with the timer of their end. */
  const idle = new Map<SqlChild, NodeJS.Timeout | undefined>();
  const busy = new Set<SqlChild>();
  const ending = new Set<Promise<void>>();
  let isClosed = false;

  function end(child: SqlChild, reason?: ChildExitReason): void {
    const ended = child.close(reason).finally(() => ending.delete(ended));
    ending.add(ended);
  }

  function addIdle(child: SqlChild): void {
    idle.set(child, isUnused(child) ? undefined : setTimeout(() => endIdle(child), idleMs).unref());
  }

  function removeIdle(child: SqlChild): void {
    clearTimeout(idle.get(child));
    idle.delete(child);
  }

  function endIdle(child: SqlChild): void {
    removeIdle(child);
    end(child, 'idle');
  }

  /** Removes and returns an idle child that fits. Removes dead ones. */
  function takeIdle(fits: (child: SqlChild) => boolean = () => true): SqlChild | undefined {
    for (const child of idle.keys()) {
      if (!child.isAlive) {
        endIdle(child);
      } else if (fits(child)) {
        removeIdle(child);
        return child;
      }
    }
    return undefined;
  }

  function startAhead(): void {
    if (isClosed || queue.running >= maxConcurrent) return;
    try {
      addIdle(takeIdle(isUnused) ?? start());
    } catch {
      // The next statement tries again, and reports why there is no child.
    }
  }

  function childFor(tenant: string): SqlChild {
    const child = takeIdle((one) => one.tenant === tenant) ?? takeIdle(isUnused) ?? start();
    child.tenant = tenant;
    busy.add(child);
    // Keep as many as can be used, and the spare one. End the others.
    while (queue.running + idle.size > maxConcurrent + 1) {
      const surplus = takeIdle((one) => !isUnused(one)) ?? takeIdle();
      if (surplus !== undefined) end(surplus, 'idle');
    }
    startAhead();
    return child;
  }

  async function giveBack(child: SqlChild, slot: Slot): Promise<void> {
    await child.settled();
    busy.delete(child);
    if (isClosed || !child.isAlive || !child.hasRoom() || !child.priority.restore())
      end(child, isClosed ? 'stopped' : 'recycled');
    else addIdle(child);
    slot.end();
    startAhead();
  }

  if (startAheadMs === 0) startAhead();
  else setTimeout(startAhead, startAheadMs).unref();
  return {
    async take(request, signal) {
      const slot = await queue.wait(request, signal);
      let child: SqlChild;
      try {
        if (isClosed) throw new ServiceError('unavailable', 'The engine is closed.');
        child = childFor(request.caller.tenant);
      } catch (error) {
        slot.end();
        throw toServiceError(error);
      }
      let lowering: { stop(): void } | undefined;
      let isFree = false;
      onAbort(slot.interrupted, () => {
        lowering?.stop();
        // At a low priority it would take long to stop on a busy machine.
        if (!child.priority.restore()) end(child, 'killed');
      });
      return {
        ...slot,
        child,
        begin() {
          const clock = startClock(() => child.cpuMs());
          lowering ??= whenReached(clock, slot.isLong ? 0 : longMs, () => child.priority.lower());
          slot.begin(clock);
        },
        free() {
          if (isFree) return;
          isFree = true;
          lowering?.stop();
          void giveBack(child, slot);
        },
      };
    },
    size: () => busy.size + idle.size,
    async close() {
      isClosed = true;
      for (let child = takeIdle(); child !== undefined; child = takeIdle()) end(child);
      for (const child of busy) end(child);
      await Promise.all(ending);
    },
  };
}

function isUnused({ tenant }: SqlChild): boolean {
  return tenant === undefined;
}

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
  /** True if another statement could still get its full memory: DuckDB does not always return what earlier ones used. */
  hasRoom(): boolean;
  /** Its CPU time in milliseconds; undefined if the system does not report it. */
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

/** The resource limits of a statement. */
export interface SqlChildOptions {
  /** Where statements spill data beyond their memory, each into a private directory. */
  readonly tempDirectory: string;
  /** The memory limit of one statement. Default 1 GiB. */
  readonly memoryBytes?: number;
  /** The spill limit of one statement. Default: ten times its memory. */
  readonly maxTempBytes?: number;
  /** The number of threads of one statement. Default: one per core. */
  readonly threads?: number;
}

/** The name prefix of the directories of these children. */
export const DIRECTORY_PREFIX = 'svc-sql-';

const DEFAULT_MEMORY_BYTES = 1024 ** 3;
/** Additional memory for Node and everything not counted by DuckDB. */
const OVERHEAD_BYTES = 512 * 1024 ** 2;
/** The stack of a thread. The system counts it in full. */
const THREAD_BYTES = 8 * 1024 ** 2;
/** The system also counts freed memory kept by the allocator for reuse. */
const COUNTED_AGAIN = 1.5;
/** Enough for one statement and its interruption. */
const POOL_THREADS = 4;
/** Linux reports CPU time in hundredths of a second. */
const TICK_MS = 10;

/**
 * Starts a locked child in a private directory, removed when it exits. `onSpans`: called with the spans of its work on
 * traced requests.
 */
export function createSqlChild(
  options: SqlChildOptions & { readonly onSpans?: OnSpans | undefined },
): SqlChild & Pick<ChildLink, 'exited'> {
  const { tempDirectory, memoryBytes = DEFAULT_MEMORY_BYTES, threads = availableParallelism(), onSpans } = options;
  const { maxTempBytes = 10 * memoryBytes } = options;
  const maxBytes = COUNTED_AGAIN * memoryBytes + threads * THREAD_BYTES + OVERHEAD_BYTES;
  const launch = (directory: string): LaunchedChild =>
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
    });
  const link = createChildLink(() => launchInDirectory(tempDirectory, DIRECTORY_PREFIX, launch));
  const { pid } = link;
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
    last = running.response.catch((error: unknown) => (isSpoilt(error) ? link.close('recycled') : undefined));
    return running;
  }

  return {
    pid,
    get isAlive() {
      return link.isAlive;
    },
    hasRoom: () => pid === undefined || countedBytes(pid) <= maxBytes - memoryBytes,
    cpuMs() {
      const ticks = pid === undefined ? undefined : cpuTimeOf(pid);
      return ticks === undefined ? undefined : ticks * TICK_MS;
    },
    priority: pid === undefined ? NO_PRIORITY : processPriority(pid),
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

/** True after an internal or fatal error: DuckDB then refuses every later statement. */
function isSpoilt(error: unknown): boolean {
  const failure = error instanceof ChildError ? error.failure : undefined;
  return failure?.code === 'sql_fault' && (failure.kind === 'INTERNAL' || failure.kind === 'FATAL');
}

/** For a process without a pid: it could not be started. */
const NO_PRIORITY: ProcessPriority = { lower: () => undefined, restore: () => true };

const { PRIORITY_NORMAL, PRIORITY_BELOW_NORMAL } = constants.priority;

/** The CPU priority of another process. */
export interface ProcessPriority {
  /** Lowers it below normal. */
  lower(): void;
  /** Restores it to normal. Returns false if the system does not allow it: on Linux this needs a privilege. */
  restore(): boolean;
}

/** Controls the priority of a process. At first it must be normal. */
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

/** Sets the priority of a process. Returns true if it succeeded. */
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
 * The memory of a child as the system counts it, without the space reserved by Node; 0 if the system does not report it.
 */
export function countedBytes(pid: number): number {
  try {
    const [, kibibytes] = /^VmData:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.max(0, Number(kibibytes ?? 0) * 1024 - reservedBytes());
  } catch {
    return 0;
  }
}
