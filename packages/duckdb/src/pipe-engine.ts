import { ServiceError } from '@svc/errors';
import type { ChildAnswers, ChildRequest } from './child/requests.ts';
import type { BatchPayload } from './pipe-columns.ts';
import {
  type Begin,
  createSignalling,
  download,
  type DownloadOptions,
  type Running,
  startExchange,
} from './pipe-exchange.ts';
import { isOutOfMemory } from './pipe-errors.ts';
import { BATCH_CREDITS } from './pipe-frames.ts';
import type { ChildOptions } from './pipe-launch.ts';
import { createSlots } from './pipe-slots.ts';
import type { ChildLink, ExchangeHandlers } from './pipe-link.ts';
import { startChild } from './start-child.ts';

/** Requests that are answered without batches. */
type SimpleOp = 'inspect' | 'texts' | 'copy';
type RequestOf<Op extends ChildRequest['op']> = Extract<ChildRequest, { op: Op }>;

/** Requests to an engine child, whichever one there is. */
export interface PipeEngine {
  call<Op extends SimpleOp>(request: RequestOf<Op>, signal?: AbortSignal): Promise<ChildAnswers[Op]>;
  /** The batches of a query, only as fast as they are taken; returns how many rows there were. */
  read(
    request: RequestOf<'read'>,
    options?: DownloadOptions & { readonly signal?: AbortSignal | undefined },
  ): AsyncGenerator<ArrayBuffer, number, undefined>;
  write(
    request: RequestOf<'write'>,
    batches: AsyncIterator<BatchPayload>,
    signal?: AbortSignal,
  ): Promise<ChildAnswers['write']>;
  /** Starts a child, so that the first request need not wait for it. */
  warm(): Promise<void>;
  /** The process id of the child, where one runs. */
  readonly childPid: number | undefined;
  close(): Promise<void>;
}

/** So many files are written at once. Each holds a thread of the child while it waits for rows, and reads need some too. */
const MAX_WRITING = 16;

/** So many children that were replaced may still be read from. */
const MAX_RETIRED = 4;

/** How the children of an engine are made. */
export interface PipeEngineOptions extends ChildOptions {
  /** The first one, which was started already. Default: it is started when it is needed. */
  readonly child?: ChildLink | undefined;
}

/** An engine that starts a child when it needs one, and another when that has ended. */
export function createPipeEngine(options: PipeEngineOptions): PipeEngine {
  let link = options.child;
  let retired: ChildLink[] = [];
  let isClosed = false;
  const writing = createSlots(MAX_WRITING);

  function begin<Answer>(
    request: ChildRequest,
    signal: AbortSignal | undefined,
    partial: Partial<ExchangeHandlers> = {},
  ): Running<Answer> {
    signal?.throwIfAborted();
    if (isClosed) throw new ServiceError('unavailable', 'The store is closed.');
    if (link?.isAlive !== true) {
      retired = [...retired, ...(link ? [link] : [])].filter((child) => child.isBusy());
      if (retired.length > MAX_RETIRED) void retired.shift()?.close();
      link = startChild(options);
    }
    const child = link;
    const running = startExchange<Answer>(child, request, signal, partial);
    // Whoever asked hears of the failure.
    running.answer.catch((error: unknown) => {
      if (isOutOfMemory(error)) child.retire();
    });
    return running;
  }

  return {
    async call<Op extends SimpleOp>(request: RequestOf<Op>, signal?: AbortSignal) {
      const asked: ChildRequest = request;
      const run = (): Promise<ChildAnswers[Op]> => begin<ChildAnswers[Op]>(asked, signal).answer;
      return asked.op === 'copy' ? writing.use(run, signal) : run();
    },
    read: (request, { signal, ...reading } = {}) => download((handlers) => begin(request, signal, handlers), reading),
    write: (request, batches, signal) =>
      writing.use(() => upload((handlers) => begin(request, signal, handlers), batches), signal),
    async warm() {
      await this.call({ op: 'texts', sql: "SELECT 'ready'" });
    },
    get childPid() {
      return link?.isAlive === true ? link.pid : undefined;
    },
    async close() {
      isClosed = true;
      await Promise.all([...retired, ...(link ? [link] : [])].map((child) => child.close()));
    },
  };
}

/** Sends batches, each when the child wants one. */
async function upload(
  begin: Begin<ChildAnswers['write']>,
  batches: AsyncIterator<BatchPayload>,
): Promise<ChildAnswers['write']> {
  const credits = { count: BATCH_CREDITS };
  const news = createSignalling();
  const { exchange, answer, orFailed } = begin({
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
      exchange.sendBatch(next.value);
    }
    exchange.sendEnd();
    return await answer;
  } catch (error) {
    exchange.cancel();
    // There is no file once the child has answered.
    await answer.catch(() => undefined);
    throw error;
  } finally {
    // A source that waits for bytes that never come must not hold up the answer.
    batches.return?.().catch(() => undefined);
  }
}
