import { onAbort } from '@svc/errors';
import type { SendResult } from './send-spans.ts';
import type { Span } from './span.ts';

/** The counts of all spans since the start. */
export interface SpanCounts {
  /** Accepted by the collector. */
  readonly sent: number;
  /** Lost: the queue was full, or the collector refused them. */
  readonly dropped: number;
  /** Waiting to be sent. */
  readonly queued: number;
}

/** A bounded queue of spans, which are sent in the background. */
export interface SpanQueue {
  /** Adds a span, or drops it if the queue is full. It never waits. */
  add(span: Span): void;
  counts(): SpanCounts;
  /** Sends what is queued, for at most a second and until the collector fails. The rest is dropped. */
  close(): Promise<void>;
}

/** Options of `createSpanQueue`. */
export interface SpanQueueOptions {
  /** Sends spans. It must not reject. */
  readonly send: (spans: readonly Span[], signal: AbortSignal) => Promise<SendResult>;
  /** Called when the collector fails, and when spans are lost. */
  readonly onProblem: (reason: string) => void;
  /** How many spans wait at most. Default 2048. */
  readonly maxQueued?: number;
  /** How long a span waits for others before it is sent. Default 2000. */
  readonly delayMs?: number;
  /** How long the collector may take. Default 10 000. */
  readonly timeoutMs?: number;
  /** The first pause after a failure; it doubles with each further one, up to 30 s. Default 1000. */
  readonly retryMs?: number;
}

/** Small enough to be written as JSON between two requests. */
const BATCH = 256;
const MAX_RETRY_MS = 30_000;
/** How long a shutdown waits for the last spans. */
const CLOSE_MS = 1000;

/** Creates an empty queue. */
export function createSpanQueue(options: SpanQueueOptions): SpanQueue {
  const { send, onProblem, maxQueued = 2048, delayMs = 2000, timeoutMs = 10_000, retryMs = 1000 } = options;
  const spans: Span[] = [];
  let sent = 0;
  let dropped = 0;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | undefined;
  let isClosing = false;
  const closing = new AbortController();

  function drop(count: number, reason: string): void {
    if (count === 0) return;
    dropped += count;
    onProblem(reason);
  }

  /** Sends the next batch when it is due. One batch is sent at a time. */
  function schedule(inMs: number): void {
    if (sending !== undefined || isClosing) return;
    clearTimeout(timer);
    timer = setTimeout(() => void flush(), inMs).unref();
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    sending ??= sendBatch().then((pauseMs) => {
      sending = undefined;
      if (spans.length > 0) schedule(pauseMs);
    });
    return sending;
  }

  /** Sends a batch, and returns how long to wait before the next one. */
  async function sendBatch(): Promise<number> {
    const batch = spans.slice(0, BATCH);
    const result = await within(timeoutMs, closing.signal, (signal) => send(batch, signal));
    const { problem, canRetry, retryAfterMs, rejected } = result;
    if (problem !== undefined && canRetry) {
      const pauseMs = retryAfterMs ?? retryMs * 2 ** failures;
      failures += 1;
      onProblem(problem);
      return Math.min(pauseMs, MAX_RETRY_MS);
    }
    failures = 0;
    spans.splice(0, batch.length);
    const lost = problem === undefined ? Math.min(rejected, batch.length) : batch.length;
    sent += batch.length - lost;
    drop(lost, problem ?? 'the collector rejected them');
    return spans.length >= BATCH ? 0 : delayMs;
  }

  return {
    add(span) {
      if (spans.length >= maxQueued) return drop(1, 'the queue is full');
      spans.push(span);
      // After a failure, the pause goes on.
      if (spans.length === BATCH && failures === 0) schedule(0);
      else if (timer === undefined) schedule(delayMs);
      return undefined;
    },
    counts: () => ({ sent, dropped, queued: spans.length }),
    async close() {
      isClosing = true;
      clearTimeout(timer);
      const late = setTimeout(() => closing.abort(), CLOSE_MS);
      await sending;
      failures = 0;
      while (spans.length > 0 && !closing.signal.aborted) {
        await flush();
        if (failures > 0) break;
      }
      clearTimeout(late);
      drop(spans.splice(0).length, 'the server stopped before the collector accepted them');
    },
  };
}

/** Runs work with a signal that is aborted after some time, or with another signal. */
async function within<T>(ms: number, other: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const late = setTimeout(() => controller.abort(), ms).unref();
  const stopListening = onAbort(other, () => controller.abort());
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(late);
    stopListening();
  }
}
