import { ServiceError } from '@svc/errors';
import type { ChildAnswers, ChildRequest } from './child/requests.ts';
import type { BatchPayload } from './pipe-columns.ts';
import { BATCH_CREDITS, parseJson } from './pipe-frames.ts';
import type { ChildOptions } from './pipe-launch.ts';
import { createSlots } from './pipe-slots.ts';
import { type ChildLink, createChildLink, type ExchangeHandlers, type LinkExchange } from './pipe-link.ts';

/** Requests that are answered without batches. */
type SimpleOp = 'inspect' | 'texts' | 'copy';
type RequestOf<Op extends ChildRequest['op']> = Extract<ChildRequest, { op: Op }>;

/** Requests to an engine child, whichever one there is. */
export interface PipeEngine {
  call<Op extends SimpleOp>(request: RequestOf<Op>, signal?: AbortSignal): Promise<ChildAnswers[Op]>;
  /** The batches of a query, only as fast as they are taken; returns how many rows there were. */
  read(request: RequestOf<'read'>, signal?: AbortSignal): AsyncGenerator<ArrayBuffer, number, undefined>;
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

/** An engine that starts a child when it needs one, and another when that has ended. */
export function createPipeEngine(options: ChildOptions): PipeEngine {
  let link: ChildLink | undefined;
  let isClosed = false;
  const writing = createSlots(MAX_WRITING);

  function begin<Answer>(
    request: ChildRequest,
    signal: AbortSignal | undefined,
    partial: Partial<ExchangeHandlers> = {},
  ): Running<Answer> {
    signal?.throwIfAborted();
    if (isClosed) throw new ServiceError('unavailable', 'The store is closed.');
    if (link?.isAlive !== true) link = createChildLink(options);
    return startExchange(link, request, signal, partial);
  }

  return {
    async call<Op extends SimpleOp>(request: RequestOf<Op>, signal?: AbortSignal) {
      const asked: ChildRequest = request;
      const run = (): Promise<ChildAnswers[Op]> => begin<ChildAnswers[Op]>(asked, signal).answer;
      return asked.op === 'copy' ? writing.use(run, signal) : run();
    },
    read: (request, signal) => download((handlers) => begin(request, signal, handlers)),
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
      await link?.close();
    },
  };
}

type Begin<Answer> = (handlers: Partial<ExchangeHandlers>) => Running<Answer>;

/** Takes the batches of an exchange, and asks for one more with each that was taken. */
async function* download(begin: Begin<ChildAnswers['read']>): AsyncGenerator<ArrayBuffer, number, undefined> {
  const waiting: ArrayBuffer[] = [];
  const news = createSignalling();
  let isDone = false;
  const { exchange, answer } = begin({
    batch(payload) {
      waiting.push(payload);
      news.signal();
    },
  });
  const onAnswer = (): void => {
    isDone = true;
    news.signal();
  };
  answer.then(onAnswer, onAnswer);
  try {
    for (;;) {
      const payload = waiting.shift();
      if (payload !== undefined) {
        yield payload;
        exchange.sendCredit(1);
      } else if (isDone) {
        return (await answer).rows;
      } else {
        await news.wait();
      }
    }
  } finally {
    exchange.cancel();
  }
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

/** Lets one wait until another has news. */
function createSignalling(): { signal(): void; wait(): Promise<void> } {
  let wake = (): void => undefined;
  return {
    signal: () => wake(),
    wait: () => new Promise((resolve) => (wake = resolve)),
  };
}

interface Running<Answer> {
  readonly exchange: LinkExchange;
  readonly answer: Promise<Answer>;
  /** Waits for something, but not longer than until the exchange fails. */
  readonly orFailed: <T>(promise: Promise<T>) => Promise<T>;
}

/** Begins an exchange that is cancelled when the signal is. */
function startExchange<Answer>(
  link: ChildLink,
  request: ChildRequest,
  signal: AbortSignal | undefined,
  partial: Partial<ExchangeHandlers>,
): Running<Answer> {
  let exchange: LinkExchange | undefined;
  let failure: Error | undefined;
  let onFailure: ((error: Error) => void) | undefined;
  const cancel = (): void => exchange?.cancel();
  const answer = new Promise<Answer>((resolve, reject) => {
    const done = (): void => signal?.removeEventListener('abort', cancel);
    exchange = link.begin(request, {
      batch: () => undefined,
      credit: () => undefined,
      ...partial,
      end(result) {
        done();
        resolve(parseJson(result));
      },
      fail(error) {
        done();
        failure = signal?.aborted === true ? abortReason(signal) : error;
        reject(failure);
        onFailure?.(failure);
      },
    });
    signal?.addEventListener('abort', cancel, { once: true });
  });
  answer.catch(() => undefined);
  if (exchange === undefined) throw new Error('The exchange did not begin.');
  return {
    exchange,
    answer,
    // Not `Promise.race`: that would leave something behind at `answer` for every batch of a long upload.
    orFailed: (promise) =>
      new Promise((resolve, reject) => {
        onFailure = reject;
        if (failure !== undefined) reject(failure);
        promise.then(resolve, reject);
      }),
  };
}

function abortReason(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error
    ? reason
    : new ServiceError('cancelled', 'The request was cancelled.', { cause: reason });
}
