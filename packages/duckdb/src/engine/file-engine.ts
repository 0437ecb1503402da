import { ServiceError } from '@svc/errors';
import { type LaterDirectory, planPrivateDirectory, sweepAbandoned } from '../disk/private-directory.ts';
import { sweepChildDirectories } from './child-directory.ts';
import type { ChildResponses, ChildRequest } from '../wire/file-requests.ts';
import type { BatchPayload } from '../types/batch-codec.ts';
import {
  type Begin,
  createSignalling,
  download,
  type DownloadOptions,
  type PendingRequest,
  startRequest,
} from './pending-request.ts';
import { isBroken, isBrokenByAnother, isOutOfMemory } from './child-errors.ts';
import { BATCH_CREDITS } from '../wire/messages.ts';
import type { ChildOptions } from './launch-child.ts';
import { createSemaphore } from './semaphore.ts';
import type { ChildLink, ResponseHandlers, LinkOptions } from './child-link.ts';
import { SPILL_PREFIX, startChild } from './start-child.ts';

/** Requests that are answered without batches. */
type SimpleOp = 'inspect' | 'texts' | 'values' | 'copy' | 'verify';
type RequestOf<Op extends ChildRequest['op']> = Extract<ChildRequest, { op: Op }>;

/** Requests to an engine child, whichever one there is. */
export interface FileEngine {
  call<Op extends SimpleOp>(request: RequestOf<Op>, signal?: AbortSignal): Promise<ChildResponses[Op]>;
  /** The batches of a query, only as fast as they are taken; returns how many rows there were. */
  read(
    request: RequestOf<'read'>,
    options?: DownloadOptions & { readonly signal?: AbortSignal | undefined },
  ): AsyncGenerator<ArrayBuffer, number, undefined>;
  write(
    request: RequestOf<'write'>,
    batches: AsyncIterator<BatchPayload>,
    signal?: AbortSignal,
  ): Promise<ChildResponses['write']>;
  /** Starts a child, so that the first request need not wait for it. */
  warm(): Promise<void>;
  /** False while no child answers. Starts one if there is none, without waiting for it, so that it can become true. */
  isResponding(): boolean;
  /** For files that a request needs for a moment; made when it is first needed. */
  readonly scratch: LaterDirectory;
  /** The process id of the child, where one runs. */
  readonly childPid: number | undefined;
  close(): Promise<void>;
}

/** So many files are written at once. Each holds a thread of the child while it waits for rows, and reads need some too. */
const MAX_WRITING = 16;

/** How the names of scratch directories begin. */
const SCRATCH_PREFIX = 'svc-footer-';

/** So many children that were replaced may still be read from. */
const MAX_RETIRED = 4;

/** How often a child is started to find out whether one can be. */
const CHECK_MS = 1000;

/** How the children of an engine are made. */
export interface FileEngineOptions extends ChildOptions, LinkOptions {
  /** The first one, which was started already. Default: it is started when it is needed. */
  readonly child?: ChildLink | undefined;
}

/** An engine that starts a child when it needs one, and another when that has ended. */
export function createFileEngine(options: FileEngineOptions): FileEngine {
  let link = options.child;
  let retired: ChildLink[] = [];
  let isClosed = false;
  /** What was known of the children before this one. */
  let wasResponding = true;
  let checkedMs = -Infinity;
  const writing = createSemaphore(MAX_WRITING);
  const scratch = planPrivateDirectory(options.tempDirectory, SCRATCH_PREFIX);
  sweepLeftovers(options.tempDirectory);

  function begin<Response>(
    request: ChildRequest,
    signal: AbortSignal | undefined,
    partial: Partial<ResponseHandlers> = {},
  ): PendingRequest<Response> {
    signal?.throwIfAborted();
    if (isClosed) throw new ServiceError('unavailable', 'The store is closed.');
    if (link?.isAlive !== true) {
      wasResponding = isResponding();
      retired = [...retired, ...(link ? [link] : [])].filter((child) => child.isBusy());
      if (retired.length > MAX_RETIRED) void retired.shift()?.close();
      link = startChild(options);
    }
    const child = link;
    const running = startRequest<Response>(child, request, signal, partial);
    // Runs before the caller sees the failure, so that its next request goes to a new child.
    running.response.catch((error: unknown) => {
      if (isOutOfMemory(error) || isBroken(error)) child.retire();
    });
    return running;
  }

  function isResponding(): boolean {
    if (link === undefined) return true;
    // A child that has answered and then ended is replaced with the next request; one that never answered may be the
    // first of many that cannot start.
    const { hasAnswered, isResponding: isAnswering } = link.watch;
    if (!link.isAlive) return hasAnswered && isAnswering;
    return hasAnswered ? isAnswering : wasResponding;
  }

  async function warm(): Promise<void> {
    await begin({ op: 'texts', sql: "SELECT 'ready'" }, undefined).response;
  }

  return {
    async call<Op extends SimpleOp>(request: RequestOf<Op>, signal?: AbortSignal) {
      const asked: ChildRequest = request;
      const run = (): Promise<ChildResponses[Op]> =>
        retryIfBroken(() => begin<ChildResponses[Op]>(asked, signal).response);
      return asked.op === 'copy' ? writing.use(run, signal) : run();
    },
    read: (request, { signal, ...reading } = {}) =>
      readFromStart(() => download((handlers) => begin(request, signal, handlers), reading)),
    write: (request, batches, signal) =>
      writing.use(() => upload((handlers) => begin(request, signal, handlers), batches), signal),
    warm,
    scratch,
    isResponding() {
      const isWell = isResponding();
      const isDue = performance.now() - checkedMs > CHECK_MS;
      if (!isWell && isDue && link?.isAlive !== true && !isClosed) {
        checkedMs = performance.now();
        // Why there is no child is the answer to requests.
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

/** Starts to remove the directories of killed processes. A directory that cannot be listed is left alone. */
function sweepLeftovers(directory: string): void {
  void sweepChildDirectories(directory, SPILL_PREFIX);
  sweepAbandoned(directory, new RegExp(`^${SCRATCH_PREFIX}`)).catch(() => undefined);
}

/** Several requests that break a child can follow each other; one that they delay does not wait for ever. */
const MAX_ATTEMPTS = 3;

/** Repeats a request that another one made fail. Only for requests that leave nothing behind when they fail. */
async function retryIfBroken<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isBrokenByAnother(error)) throw error;
    }
  }
}

/** Reads batches, and begins again if another request breaks the child before the first one has come. */
async function* readFromStart(
  begin: () => AsyncGenerator<ArrayBuffer, number, undefined>,
): AsyncGenerator<ArrayBuffer, number, undefined> {
  const { batches, first } = await retryIfBroken(async () => {
    const begun = begin();
    return { batches: begun, first: await begun.next() };
  });
  if (first.done === true) return first.value;
  try {
    yield first.value;
    return yield* batches;
  } finally {
    // Also if the reader leaves at the first batch.
    await batches.return(0);
  }
}

/** Sends batches, each when the child wants one. */
async function upload(
  begin: Begin<ChildResponses['write']>,
  batches: AsyncIterator<BatchPayload>,
): Promise<ChildResponses['write']> {
  const credits = { count: BATCH_CREDITS };
  const news = createSignalling();
  const { control, response, orFailed } = begin({
    credit(count) {
      credits.count += count;
      news.signal();
    },
  });
  try {
    for (;;) {
      const next = await orFailed(batches.next());
      if (next.done === true) break;
      while (credits.count === 0) await orFailed(news.wait());
      credits.count--;
      control.sendBatch(next.value);
    }
    control.sendEnd();
    return await response;
  } catch (error) {
    control.cancel();
    // The child removes the file before it responds.
    await response.catch(() => undefined);
    throw error;
  } finally {
    // A source that waits for bytes that never come must not hold up the answer.
    batches.return?.().catch(() => undefined);
  }
}
