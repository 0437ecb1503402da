import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createSpanQueue, type SpanQueueOptions } from '../src/traces/open-traces.ts';
import type { SendResult, Span } from '../src/traces/send-spans.ts';
import { deferred } from './upstream.ts';

const OK: SendResult = { canRetry: false, rejected: 0 };
const BUSY: SendResult = { canRetry: true, problem: 'status 503', rejected: 0 };
const REFUSED: SendResult = { canRetry: false, problem: 'status 400', rejected: 0 };

function spanOf(name: string): Span {
  const none = { parentSpanId: undefined, traceState: undefined, failure: undefined };
  return { traceId: '1', spanId: '2', ...none, name, kind: 'server', startMs: 0, endMs: 1, attributes: {} };
}

/** A queue whose collector answers with the given results in turn, then with the last one. */
function queueWith(results: readonly SendResult[], options: Partial<SpanQueueOptions> = {}) {
  const batches: string[][] = [];
  const problems: string[] = [];
  const queue = createSpanQueue({
    send: async (spans) => {
      batches.push(spans.map(({ name }) => name));
      return results[Math.min(batches.length, results.length) - 1] ?? OK;
    },
    onProblem: (reason) => problems.push(reason),
    delayMs: 1,
    retryMs: 1,
    ...options,
  });
  return { queue, batches, problems };
}

function addMany(queue: { add(span: Span): void }, count: number): void {
  for (let i = 0; i < count; i += 1) queue.add(spanOf(String(i)));
}

describe('a queue of spans', () => {
  test('sends all of them once, in order, in batches', async () => {
    const { queue, batches, problems } = queueWith([OK]);
    addMany(queue, 600);
    await expect.poll(() => queue.counts()).toEqual({ sent: 600, dropped: 0, queued: 0 });
    expect(batches.map(({ length }) => length)).toEqual([256, 256, 88]);
    expect(batches.flat()).toEqual(Array.from({ length: 600 }, (_, i) => String(i)));
    expect(problems).toEqual([]);
  });

  test('sends them again after a failure that may pass', async () => {
    const { queue, batches, problems } = queueWith([BUSY, BUSY, OK]);
    queue.add(spanOf('a'));
    await expect.poll(() => queue.counts()).toEqual({ sent: 1, dropped: 0, queued: 0 });
    expect(batches).toEqual([['a'], ['a'], ['a']]);
    expect(problems).toEqual(['status 503', 'status 503']);
  });

  test('drops those that the collector refuses, and counts them', async () => {
    const { queue, problems } = queueWith([REFUSED, { ...OK, rejected: 2 }, OK]);
    addMany(queue, 256);
    await expect.poll(() => queue.counts()).toEqual({ sent: 0, dropped: 256, queued: 0 });
    addMany(queue, 5);
    await expect.poll(() => queue.counts()).toEqual({ sent: 3, dropped: 258, queued: 0 });
    expect(problems).toEqual(['status 400', 'the collector rejected them']);
  });

  test('is bounded: those beyond 2048 are dropped and counted, while the collector does not answer', async () => {
    const { promise, resolve } = deferred();
    const { queue, problems } = queueWith([], { send: () => promise.then(() => OK) });
    addMany(queue, 3000);
    expect(queue.counts()).toEqual({ sent: 0, dropped: 952, queued: 2048 });
    expect(new Set(problems)).toEqual(new Set(['the queue is full']));
    resolve();
    await expect.poll(() => queue.counts()).toEqual({ sent: 2048, dropped: 952, queued: 0 });
  });

  test('sends the rest when it is closed', async () => {
    const { queue, batches } = queueWith([OK], { delayMs: 1e6 });
    addMany(queue, 300);
    await queue.close();
    expect(queue.counts()).toEqual({ sent: 300, dropped: 0, queued: 0 });
    expect(batches).toHaveLength(2);
  });

  test('drops the rest when it is closed and the collector fails', async () => {
    const { queue, batches } = queueWith([BUSY], { delayMs: 1e6 });
    addMany(queue, 300);
    await queue.close();
    expect(queue.counts()).toEqual({ sent: 0, dropped: 300, queued: 0 });
    expect(batches).toHaveLength(1);
  });

  test('waits a second for a collector that is silent when it is closed', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const send: SpanQueueOptions['send'] = (_spans, signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(BUSY)));
    const { queue } = queueWith([], { send });
    queue.add(spanOf('a'));
    const closed = queue.close();
    await vi.advanceTimersByTimeAsync(999);
    expect(queue.counts()).toEqual({ sent: 0, dropped: 0, queued: 1 });
    await vi.advanceTimersByTimeAsync(1);
    await closed;
    expect(queue.counts()).toEqual({ sent: 0, dropped: 1, queued: 0 });
  });

  test('ends a request that the collector does not answer in time, and sends it again', async () => {
    let tries = 0;
    const send: SpanQueueOptions['send'] = async (_spans, signal) => {
      tries += 1;
      if (tries > 1) return OK;
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(BUSY)));
    };
    const { queue } = queueWith([], { send, timeoutMs: 5 });
    queue.add(spanOf('a'));
    await expect.poll(() => queue.counts()).toEqual({ sent: 1, dropped: 0, queued: 0 });
    expect(tries).toBe(2);
  });
});
