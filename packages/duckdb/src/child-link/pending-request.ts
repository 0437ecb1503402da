import { abortError, onAbort } from '@svc/errors';
import { type EngineSpan, type RequestOrigin, traceHeaders } from '@svc/frames';
import { type ArrivedBatch, PLACE_BYTES } from '../wire/batch.ts';
import { type ChildSpan, monotonicMs, parseJson } from '../wire/messages.ts';
import type { ChildLink, ResponseHandlers, RequestControl, LinkRequest } from './child-link.ts';

/** Starts a request. */
export type Begin<Response> = (handlers: Partial<ResponseHandlers>) => PendingRequest<Response>;

/** Options of a download. */
export interface DownloadOptions {
  /** Reuse one buffer: each batch is valid until the next `next()`. Default false. */
  readonly reuseBuffers?: boolean | undefined;
}

/** Yields the batches of a request, and grants the child one credit for each batch done with by the consumer. */
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
  const { control, response } = begin({
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
  const onResponse = (): void => {
    isDone = true;
    news.signal();
  };
  response.then(onResponse, () => {
    // Also if the consumer never asks for the next batch.
    leave();
    onResponse();
  });
  try {
    for (;;) {
      const batch = waiting.shift();
      if (batch !== undefined) {
        yield batch.take(memory);
        control.sendCredit(1);
      } else if (isDone) {
        const { rows } = await response;
        // Only now is the consumer certainly done with it.
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

/** A wake-up signal for one waiter. */
export function createSignalling(): { signal(): void; wait(): Promise<void> } {
  let wake = (): void => undefined;
  return {
    signal: () => wake(),
    wait: () => new Promise((resolve) => (wake = resolve)),
  };
}

/** A request in flight. */
export interface PendingRequest<Response> {
  readonly control: RequestControl;
  readonly response: Promise<Response>;
  /** Awaits a promise, but rejects as soon as the request fails. */
  readonly orFailed: <T>(promise: Promise<T>) => Promise<T>;
}

/** Called with the spans of a child's work on a client's request. */
export type OnSpans = (origin: RequestOrigin, spans: readonly EngineSpan[]) => void;

/** The context of a request. */
export interface RequestContext {
  /** Aborting it cancels the request. */
  readonly signal?: AbortSignal | undefined;
  /** The client's request behind this one, if there is one. */
  readonly origin?: RequestOrigin | undefined;
  /** Called if the origin is traced. */
  readonly onSpans?: OnSpans | undefined;
}

/** Starts a request. */
export function startRequest<Response>(
  link: ChildLink,
  request: LinkRequest,
  { signal, origin, onSpans }: RequestContext,
  partial: Partial<ResponseHandlers>,
): PendingRequest<Response> {
  const isTraced = origin?.trace?.isRecorded === true && onSpans !== undefined;
  let control: RequestControl | undefined;
  let failure: Error | undefined;
  let onFailure: ((error: Error) => void) | undefined;
  let stopListening = (): void => undefined;
  const response = new Promise<Response>((resolve, reject) => {
    control = link.begin(isTraced ? withTrace(request, origin) : request, {
      origin,
      batch: (batch) => batch.drop(),
      credit: ignore,
      progress: ignore,
      spans: isTraced ? (spans) => onSpans(origin, engineSpans(spans)) : ignore,
      ...partial,
      end(result) {
        stopListening();
        resolve(parseJson(result));
      },
      fail(error) {
        stopListening();
        failure = signal?.aborted === true ? abortError(signal.reason) : error;
        reject(failure);
        onFailure?.(failure);
      },
    });
    stopListening = onAbort(signal, () => control?.cancel());
  });
  response.catch(() => undefined);
  if (control === undefined) throw new Error('The request was not started.');
  return {
    control,
    response,
    // Not `Promise.race`: that would add a handler to `response` for every batch of a long upload.
    orFailed: (promise) =>
      new Promise((resolve, reject) => {
        onFailure = reject;
        if (failure !== undefined) reject(failure);
        promise.then(resolve, reject);
      }),
  };
}

function ignore(): void {}

function withTrace(request: LinkRequest, { trace }: RequestOrigin): LinkRequest {
  const { traceparent } = traceHeaders(trace);
  return traceparent === undefined ? request : { ...request, trace: { traceparent, sentMs: monotonicMs() } };
}

/** Converts the times of spans to times before now. */
function engineSpans(spans: readonly ChildSpan[]): readonly EngineSpan[] {
  const nowMs = monotonicMs();
  return spans.map(({ startMs, endMs, ...span }) => ({
    ...span,
    endedMsAgo: nowMs - endMs,
    durationMs: endMs - startMs,
  }));
}
