import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Config } from '@svc/config';
import { continueTrace, startSpan, type StartTrace } from '@svc/frames';
import type { Observer } from '@svc/service';
import type { Log } from '../observers/log.ts';
import { otlpBody } from './otlp-body.ts';
import { createSpanSender } from './send-spans.ts';
import { createSpanObserver } from './span-observer.ts';
import { createSpanQueue, type SpanCounts } from './span-queue.ts';
import type { SpanAttributes } from './span.ts';

/** The traces of a server. */
export interface Traces {
  /** Decides which requests are traced. */
  readonly startTrace: StartTrace;
  /** Observes events, and sends the spans of sampled requests to the collector. */
  readonly observe: Observer;
  /** The counts of spans, for metrics. */
  readonly counts: () => SpanCounts;
  /** Sends the spans that are left, for at most a second. */
  close(): Promise<void>;
}

/** How often a failing collector is logged, at most. */
const WARNING_MS = 60_000;

/** Opens the traces of a configuration with a collector. It connects when there are spans. */
export function openTraces(url: string, settings: Config['traces'], log: Log, version: string): Traces {
  const { otlp_headers: headers = [], ca_file: caFile, sample } = settings;
  const ca = caFile === undefined ? undefined : readFileSync(caFile, 'utf8');
  const sender = createSpanSender({ url, headers: fromPairs(headers), ca });
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

/** Returns a function that logs a problem of the collector, at most once a minute. */
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
 * Returns a function that decides which requests are traced: those that the client has sampled, and a fraction of those
 * without a trace. A request that is not sampled costs one header lookup and one random number; it has no context of its own.
 */
export function createStartTrace(sample: number, random: () => number = Math.random): StartTrace {
  return (headers) => {
    const client = continueTrace(headers);
    if (client?.isSampled === false) return client;
    if (client === undefined && random() >= sample) return undefined;
    return { ...startSpan(client), isRecorded: true };
  };
}
