import { type ChildSpan, monotonicMs, type RequestTrace } from '../wire/request-trace.ts';

/** Records how the child works on a request that is traced: one span, and one below it for each step. */
export interface RequestSpans {
  /** The child was ready at this time, by `monotonicMs`. If that was after the request was sent, `start` is a step. */
  started(readyMs: number): void;
  /** Begins a step; the step before ends. */
  step(name: string): void;
  /** Counts a batch that was sent after a wait for the reader. */
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
