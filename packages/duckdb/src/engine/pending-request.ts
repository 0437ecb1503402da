import { ServiceError } from '@svc/errors';
import { type ArrivedBatch, PLACE_BYTES } from '../wire/batch-file.ts';
import { parseJson } from '../wire/messages.ts';
import type { ChildLink, ResponseHandlers, RequestControl, LinkRequest } from './child-link.ts';

/** Begins an exchange. */
export type Begin<Answer> = (handlers: Partial<ResponseHandlers>) => PendingRequest<Answer>;

/** How batches are taken. */
export interface DownloadOptions {
  /** Reuse one buffer: each batch is valid until the next `next()`. Default false. */
  readonly reuseBuffers?: boolean | undefined;
}

/** Takes the batches of an exchange, and asks for one more with each that was taken. */
export async function* download(
  begin: Begin<{ readonly rows: number }>,
  { reuseBuffers = false }: DownloadOptions = {},
): AsyncGenerator<ArrayBuffer, number, undefined> {
  const waiting: ArrivedBatch[] = [];
  const news = createSignalling();
  let buffer: ArrayBuffer | undefined;
  const memory = reuseBuffers ? () => (buffer ??= spareMemory.pop() ?? new ArrayBuffer(PLACE_BYTES)) : undefined;
  let isDone = false;
  let isLeft = false;
  const { control, answer } = begin({
    batch(batch) {
      if (isLeft) return batch.drop();
      waiting.push(batch);
      news.signal();
    },
  });
  const leave = (): void => {
    isLeft = true;
    for (const batch of waiting.splice(0)) batch.drop();
  };
  const onAnswer = (): void => {
    isDone = true;
    news.signal();
  };
  answer.then(onAnswer, () => {
    // Also where nobody comes back to hear of the failure.
    leave();
    onAnswer();
  });
  try {
    for (;;) {
      const batch = waiting.shift();
      if (batch !== undefined) {
        yield batch.take(memory);
        control.sendCredit(1);
      } else if (isDone) {
        const { rows } = await answer;
        // Only now is it certain that nobody looks at it any more.
        if (buffer !== undefined && spareMemory.length < MAX_SPARE) spareMemory.push(buffer);
        return rows;
      } else {
        await news.wait();
      }
    }
  } finally {
    control.cancel();
    leave();
  }
}

/** Buffers of finished downloads, for the next ones with `reuseBuffers`. */
const spareMemory: ArrayBuffer[] = [];
const MAX_SPARE = 4;

/** Lets one wait until another has news. */
export function createSignalling(): { signal(): void; wait(): Promise<void> } {
  let wake = (): void => undefined;
  return {
    signal: () => wake(),
    wait: () => new Promise((resolve) => (wake = resolve)),
  };
}

/** An exchange that has begun. */
export interface PendingRequest<Answer> {
  readonly control: RequestControl;
  readonly answer: Promise<Answer>;
  /** Waits for something, but not longer than until the exchange fails. */
  readonly orFailed: <T>(promise: Promise<T>) => Promise<T>;
}

/** Begins an exchange that is cancelled when the signal is. */
export function startRequest<Answer>(
  link: ChildLink,
  request: LinkRequest,
  signal: AbortSignal | undefined,
  partial: Partial<ResponseHandlers>,
): PendingRequest<Answer> {
  let control: RequestControl | undefined;
  let failure: Error | undefined;
  let onFailure: ((error: Error) => void) | undefined;
  const cancel = (): void => control?.cancel();
  const answer = new Promise<Answer>((resolve, reject) => {
    const done = (): void => signal?.removeEventListener('abort', cancel);
    control = link.begin(request, {
      batch: (batch) => batch.drop(),
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
  if (control === undefined) throw new Error('The request did not begin.');
  return {
    control,
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
