import type { BatchWriter } from '../wire/batch.ts';
import { type ChildSpan, monotonicMs, type RequestTrace } from '../wire/messages.ts';

/** The child's side of one request. */
export interface ActiveRequest {
  readonly id: number;
  /** Aborted when the parent cancels the request. */
  readonly signal: AbortSignal;
  /** Sends a batch when the parent has granted a credit for it. */
  sendBatch(batch: BatchWriter): Promise<void>;
  /** Reports the progress: a fraction from 0 to 1, and rows. */
  sendProgress(fraction: number, rowsProcessed: number, rowsTotal: number): void;
  /** Grants the parent a credit for one more batch. */
  requestBatch(): void;
  /** Received batches, not processed yet. */
  readonly incoming: ArrayBuffer[];
  /** True once the last batch has been received. */
  readonly hasAll: boolean;
  /** Undefined if the request is not traced. */
  readonly spans: RequestSpans | undefined;
}

/** The parent cancelled the request. */
export class CancelledError extends Error {}

/** Records the child's work on a traced request: one span, and one below it for each step. */
export interface RequestSpans {
  /** The child was ready at this time, by `monotonicMs`. If the request was sent before, `start` is a step. */
  started(readyMs: number): void;
  /** Begins a step; the step before ends. */
  step(name: string): void;
  /** Counts a sent batch, and the wait for the reader before it. */
  sent(bytes: number, blockedMs: number): void;
  /** Ends the request, and returns its spans. */
  finish(errorCode?: string): readonly ChildSpan[];
}

/** Starts to record a request. */
export function createRequestSpans(op: string, { traceparent, sentMs }: RequestTrace): RequestSpans {
  const [, , parentSpanId = ''] = traceparent.split('-');
  const spanId = newSpanId();
  const spans: ChildSpan[] = [];
  const sent = { batches: 0, bytes: 0, blockedMs: 0 };
  let current: { readonly name: string; readonly startMs: number } | undefined;

  function add(step: Pick<ChildSpan, 'endMs' | 'name' | 'startMs'>): void {
    spans.push({ spanId: newSpanId(), parentSpanId: spanId, ...step });
  }

  return {
    started(readyMs) {
      if (readyMs > sentMs) add({ name: 'start', startMs: sentMs, endMs: readyMs });
    },
    step(name) {
      const startMs = monotonicMs();
      if (current !== undefined) add({ ...current, endMs: startMs });
      current = { name, startMs };
    },
    sent(bytes, blockedMs) {
      sent.batches += 1;
      sent.bytes += bytes;
      sent.blockedMs += blockedMs;
    },
    finish(errorCode) {
      const endMs = monotonicMs();
      if (current !== undefined) add({ ...current, endMs });
      const attributes = {
        'process.pid': process.pid,
        ...(sent.batches > 0 && {
          'svc.batches': sent.batches,
          'svc.bytes': sent.bytes,
          'svc.blocked_ms': sent.blockedMs,
        }),
        ...(errorCode !== undefined && { 'error.type': errorCode }),
      };
      // After its steps: the start of a whole is known when its parts are.
      spans.push({ spanId, parentSpanId, name: `duckdb ${op}`, startMs: sentMs, endMs, attributes });
      return spans;
    },
  };
}

/** Unique, but no secret: loading the random numbers for secrets would delay the start of every child. */
function newSpanId(): string {
  return [0, 0]
    .map(() =>
      Math.floor(Math.random() * 2 ** 32)
        .toString(16)
        .padStart(8, '0'),
    )
    .join('');
}
