import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Config } from '@svc/config';
import { onAbort } from '@svc/errors';
import { continueTrace, startSpan, type StartTrace } from '@svc/frames';
import type { Observer } from '@svc/service';
import type { Log } from '../observers/log.ts';
import { createSpanSender, otlpBody, type SendResult, type Span, type SpanAttributes } from './send-spans.ts';
import { createSpanObserver } from './span-observer.ts';

/** The traces of a server. */
export interface Traces {
  /** Chooses the requests to trace. */
  readonly startTrace: StartTrace;
  /** Observes events, and sends the spans of sampled requests to the collector. */
  readonly observe: Observer;
  /** The counts of spans, for metrics. */
  readonly counts: () => SpanCounts;
  /** Sends the last spans, for at most a second. */
  close(): Promise<void>;
}

/** How often a failing collector is logged, at most. */
const WARNING_MS = 60_000;

/** Opens the traces of a configuration with a collector. It connects when there are spans. */
export function openTraces(url: string, settings: Config['traces'], log: Log, version: string): Traces {
  const { otlp_headers: headers = [], ca_file: caFile, sample } = settings;
  const ca = caFile === undefined ? undefined : readFileSync(caFile, 'utf8');
  const sender = createSpanSender(url, fromPairs(headers), ca);
  const resource = resourceOf(settings, version);
  const warn = createWarning(log, () => queue.counts());
  const queue = createSpanQueue({
    send: (spans, signal) => sender.send(otlpBody(resource, spans), signal),
    onProblem: warn,
  });
  return {
    startTrace: createStartTrace(sample),
    observe: createSpanObserver((span) => queue.add(span)),
    counts: () => queue.counts(),
    async close() {
      await queue.close();
      sender.close();
    },
  };
}

/** Logs a problem of the collector, at most once a minute. */
function createWarning(log: Log, counts: () => SpanCounts): (reason: string) => void {
  let warnedAtMs = -Infinity;
  return (reason) => {
    if (performance.now() - warnedAtMs < WARNING_MS) return;
    warnedAtMs = performance.now();
    const { dropped, queued } = counts();
    log.warn('Spans cannot be sent to the collector of traces.otlp_url.', { reason, dropped, queued });
  };
}

function resourceOf({ service_name: name, resource_attributes: pairs = [] }: Config['traces'], version: string) {
  const attributes: SpanAttributes = {
    'service.name': 'svc',
    'service.version': version,
    'service.instance.id': randomUUID(),
    ...fromPairs(pairs),
  };
  return name === undefined ? attributes : { ...attributes, 'service.name': name };
}

/** Splits each `name=value` at its first equals sign. */
function fromPairs(pairs: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
}

/**
 * Chooses the requests to trace: those sampled by the client, and a fraction of those without a trace. Any other costs
 * one header lookup and one random number; it has no context of its own.
 */
export function createStartTrace(sample: number, random: () => number = Math.random): StartTrace {
  return (headers) => {
    const client = continueTrace(headers);
    if (client?.isSampled === false) return client;
    if (client === undefined && random() >= sample) return undefined;
    return { ...startSpan(client), isRecorded: true };
  };
}

/** The counts of all spans since the start. */
export interface SpanCounts {
  /** Accepted by the collector. */
  readonly sent: number;
  /** Lost: the queue was full, or the collector refused them. */
  readonly dropped: number;
  /** Waiting to be sent. */
  readonly queued: number;
}

/** A bounded queue of spans, sent in the background. */
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

/** Runs work with a signal for a timeout and for another signal. */
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
