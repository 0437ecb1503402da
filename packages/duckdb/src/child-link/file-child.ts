import { availableParallelism } from 'node:os';
import { ServiceError } from '@svc/errors';
import type { RequestOrigin } from '@svc/frames';
import { createSemaphore, tenantShare } from '@svc/frames/async';
import { type LaterDirectory, planPrivateDirectory, sweepAbandoned } from '../disk/private-directory.ts';
import type { ChildOptions } from './child-process.ts';
import type { ChildResponses, ChildRequest } from '../wire/requests.ts';
import type { BatchPayload } from '../types/batch-codec.ts';
import {
  type Begin,
  createSignalling,
  download,
  type DownloadOptions,
  type OnSpans,
  type PendingRequest,
  type RequestContext,
  startRequest,
} from './pending-request.ts';
import { isBroken, isBrokenByAnother, isOutOfMemory } from './child-errors.ts';
import { BATCH_CREDITS } from '../wire/messages.ts';
import { type ChildLink, type LinkOptions, type ResponseHandlers, SPILL_PREFIX, startChild } from './child-link.ts';

/** Requests whose response has no batches. */
type SimpleOp = 'inspect' | 'texts' | 'values' | 'copy' | 'verify';
type RequestOf<Op extends ChildRequest['op']> = Extract<ChildRequest, { op: Op }>;

/** Sends requests to the current child for files. */
export interface FileChild {
  call<Op extends SimpleOp>(
    request: RequestOf<Op>,
    signal?: AbortSignal,
    origin?: RequestOrigin,
  ): Promise<ChildResponses[Op]>;
  /** Yields the batches of a query with backpressure; returns the number of rows. */
  read(
    request: RequestOf<'read'>,
    options?: DownloadOptions & Omit<RequestContext, 'onSpans'>,
  ): AsyncGenerator<ArrayBuffer, number, undefined>;
  write(
    request: RequestOf<'write'>,
    batches: AsyncIterator<BatchPayload>,
    context?: Omit<RequestContext, 'onSpans'>,
  ): Promise<ChildResponses['write']>;
  /** Starts a child ahead of the first request. */
  warm(): Promise<void>;
  /** False while no child responds. Starts one in the background if there is none. */
  isResponding(): boolean;
  /** A directory for short-lived files; created on first use. */
  readonly scratch: LaterDirectory;
  /** The process id of the running child, if there is one. */
  readonly childPid: number | undefined;
  close(): Promise<void>;
}

/**
 * How many files are written at once. Each holds a thread of the child while it waits for rows, and reads need threads
 * too.
 */
const MAX_WRITING = 16;

/**
 * How many reads wait for their first rows at once: the child opens a file for each, and other requests wait meanwhile. A
 * read with rows holds no permit, because its reader may be slow.
 */
const MAX_BEGINNING = Math.max(8, 2 * availableParallelism());

/**
 * A frame with more columns is wide. DuckDB takes about 25 KB of its memory and 0.3 ms for each column of a file, so
 * wide frames are written one at a time.
 */
const WIDE_COLUMNS = 1000;

/**
 * Writes with long rows at once; a tenant has one of them. The pipe, the child and DuckDB hold such a row several times, and
 * other requests wait for its copies.
 */
const MAX_WRITING_LONG = 2;

/** The name prefix of scratch directories. */
const SCRATCH_PREFIX = 'svc-footer-';

/** How many replaced children may still finish their requests. */
const MAX_RETIRED = 4;

/** The minimum time between attempts to start a child for a health check. */
const CHECK_MS = 1000;

/** Options of `createFileChild`. */
export interface FileChildOptions extends ChildOptions, LinkOptions {
  /** Called with every started child, also with `child`. Default: none. */
  readonly onChild?: ((child: Pick<ChildLink, 'exited'>) => void) | undefined;
  /** The first child, if it was started already. Default: one is started on demand. */
  readonly child?: ChildLink | undefined;
  /** Called with the spans of a child's work on a request whose trace is recorded. Default: there are none. */
  readonly onSpans?: OnSpans | undefined;
}

/** Starts a child on demand, and replaces it when it has ended. */
export function createFileChild(options: FileChildOptions): FileChild {
  let link = options.child && announced(options.child, options);
  let retired: ChildLink[] = [];
  let isClosed = false;
  /** True if the previous child was responding. */
  let wasResponding = true;
  let checkedMs = -Infinity;
  const writing = createSemaphore(MAX_WRITING, tenantShare(MAX_WRITING));
  const wide = createSemaphore(1);
  const beginning = createSemaphore(MAX_BEGINNING, tenantShare(MAX_BEGINNING));
  const long = createSemaphore(MAX_WRITING_LONG, tenantShare(MAX_WRITING_LONG));
  const scratch = planPrivateDirectory(options.tempDirectory, SCRATCH_PREFIX);
  sweepLeftovers(options.tempDirectory);

  function begin<Response>(
    request: ChildRequest,
    context: Omit<RequestContext, 'onSpans'>,
    partial: Partial<ResponseHandlers> = {},
  ): PendingRequest<Response> {
    context.signal?.throwIfAborted();
    if (isClosed) throw new ServiceError('unavailable', 'The store is closed.');
    if (link?.isAlive !== true) {
      wasResponding = isResponding();
      retired = [...retired, ...(link ? [link] : [])].filter((child) => child.isBusy());
      if (retired.length > MAX_RETIRED) void retired.shift()?.close();
      link = announced(startChild(options), options);
    }
    const child = link;
    const running = startRequest<Response>(child, request, { ...context, onSpans: options.onSpans }, partial);
    // Runs before the caller sees the failure: its next request goes to a new child.
    running.response.catch((error: unknown) => {
      if (isOutOfMemory(error) || isBroken(error)) child.retire(isBroken(error) ? 'recycled' : 'out_of_memory');
    });
    return running;
  }

  function isResponding(): boolean {
    if (link === undefined) return true;
    // If it has responded and then exited, the next request replaces it. If it never responded, its successors
    // may fail to start, too.
    const { hasAnswered, isResponding: isAnswering } = link.watch;
    if (!link.isAlive) return hasAnswered && isAnswering;
    return hasAnswered ? isAnswering : wasResponding;
  }

  async function warm(): Promise<void> {
    await begin({ op: 'texts', sql: "SELECT 'ready'" }, {}).response;
  }

  return {
    async call<Op extends SimpleOp>(request: RequestOf<Op>, signal?: AbortSignal, origin?: RequestOrigin) {
      const asked: ChildRequest = request;
      const run = (): Promise<ChildResponses[Op]> =>
        retryIfBroken(() => begin<ChildResponses[Op]>(asked, { signal, origin }).response);
      return asked.op === 'copy' ? writing.use(run, signal, origin) : run();
    },
    read: (request, { signal, origin, reuseBuffers } = {}) =>
      readFromStart(
        () => download((handlers) => begin(request, { signal, origin }, handlers), { reuseBuffers }),
        (first) => beginning.use(first, signal, origin),
      ),
    write(request, batches, { signal, origin } = {}) {
      const beginLong = (): Promise<() => void> => long.acquire(signal, undefined, origin);
      const send = (): Promise<ChildResponses['write']> =>
        upload((handlers) => begin(request, { signal, origin }, handlers), batches, beginLong);
      const run = (): Promise<ChildResponses['write']> => writing.use(send, signal, origin);
      return request.columns.length > WIDE_COLUMNS ? wide.use(run, signal, origin) : run();
    },
    warm,
    scratch,
    isResponding() {
      const isWell = isResponding();
      const isDue = performance.now() - checkedMs > CHECK_MS;
      if (!isWell && isDue && link?.isAlive !== true && !isClosed) {
        checkedMs = performance.now();
        // The next request reports why there is no child.
        warm().catch(() => undefined);
      }
      return isWell;
    },
    get childPid() {
      return link?.isAlive === true ? link.pid : undefined;
    },
    async close() {
      isClosed = true;
      await Promise.all([...retired, ...(link ? [link] : [])].map((child) => child.close()));
      await scratch.remove();
    },
  };
}

function announced(child: ChildLink, { onChild }: FileChildOptions): ChildLink {
  onChild?.(child);
  return child;
}

/** Starts to remove the directories of killed processes, if they can be listed. */
function sweepLeftovers(directory: string): void {
  for (const name of [`^${SPILL_PREFIX}\\d+-`, `^${SCRATCH_PREFIX}`]) {
    sweepAbandoned(directory, new RegExp(name)).catch(() => undefined);
  }
}

/** Several requests in a row may break their child; one delayed by them must not retry forever. */
const MAX_ATTEMPTS = 3;

/** Retries a request that failed because another one broke the child. Only for requests that leave nothing behind. */
async function retryIfBroken<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isBrokenByAnother(error)) throw error;
    }
  }
}

/** Reads batches, and starts again if another request breaks the child before the first batch arrives. */
async function* readFromStart(
  begin: () => AsyncGenerator<ArrayBuffer, number, undefined>,
  inTurn: <T>(task: () => Promise<T>) => Promise<T>,
): AsyncGenerator<ArrayBuffer, number, undefined> {
  const { batches, first } = await retryIfBroken(() =>
    inTurn(async () => {
      const begun = begin();
      return { batches: begun, first: await begun.next() };
    }),
  );
  if (first.done === true) return first.value;
  try {
    yield first.value;
    return yield* batches;
  } finally {
    // Also if the reader stops at the first batch.
    await batches.return(0);
  }
}

/** Sends batches, each against a credit of the child. Calls `beginLong` before the first batch of long rows. */
async function upload(
  begin: Begin<ChildResponses['write']>,
  batches: AsyncIterator<BatchPayload>,
  beginLong: () => Promise<() => void>,
): Promise<ChildResponses['write']> {
  let endLong: (() => void) | undefined;
  let isOver = false;
  try {
    return await sendBatches(begin, batches, async () => {
      endLong ??= await beginLong();
      if (isOver) endLong();
    });
  } finally {
    isOver = true;
    endLong?.();
    // Not awaited: the source may wait forever for bytes.
    batches.return?.().catch(() => undefined);
  }
}

/** This many short batches may be in flight: when the child has none it sleeps, and waking takes longer than writing. */
const SHORT_BATCHES = 64;
/** The most bytes of short batches in flight. */
const SHORT_BYTES = 1 << 18;

/** True if no further batch may be in flight beside those of these lengths. */
function isEnough(lengths: readonly number[]): boolean {
  if (lengths.length < BATCH_CREDITS) return false;
  return lengths.length >= SHORT_BATCHES || lengths.reduce((sum, length) => sum + length, 0) >= SHORT_BYTES;
}

async function sendBatches(
  begin: Begin<ChildResponses['write']>,
  batches: AsyncIterator<BatchPayload>,
  beginLong: () => Promise<void>,
): Promise<ChildResponses['write']> {
  /** The lengths of the batches in flight. */
  const inFlight: number[] = [];
  const news = createSignalling();
  const { control, response, orFailed } = begin({
    credit(count) {
      inFlight.splice(0, count);
      news.signal();
    },
  });
  try {
    for (;;) {
      const next = await orFailed(batches.next());
      if (next.done === true) break;
      while (isEnough(inFlight)) await orFailed(news.wait());
      if (next.value.isLong) await orFailed(beginLong());
      inFlight.push(next.value.length);
      control.sendBatch(next.value);
    }
    control.sendEnd();
    return await response;
  } catch (error) {
    control.cancel();
    // The child removes the file before it responds.
    await response.catch(() => undefined);
    throw error;
  }
}
