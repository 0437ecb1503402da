import { permissionDenied } from '@svc/auth';
import type { Config } from '@svc/config';
import type { FrameCacheState } from '@svc/duckdb';
import type { Handler, ResponseCache } from '@svc/exec-http';
import { createYield } from '@svc/frames/async';
import { type Health, isServing, type Observer, type Service, SQL_TARGETS } from '@svc/service';
import { createMetricsObserver } from './metrics-observer.ts';
import { createRegistry, type Registry } from './registry.ts';
import { createRuntimeMetrics } from './runtime-metrics.ts';
import type { SpanCounts } from '../traces/open-traces.ts';
import type { Descriptors } from '../watch-descriptors.ts';

/** What the gauges are read from, once it exists. */
export interface MetricSources {
  readonly service: Pick<Service, 'hasTsdb' | 'health'>;
  readonly frameCache: () => FrameCacheState;
  readonly answerCache: Pick<ResponseCache, 'bytes' | 'reads'>;
  readonly tsdbConnections: () => number;
  /** Undefined if there is no collector of traces. */
  readonly spans: (() => SpanCounts) | undefined;
  readonly connections: () => Readonly<Record<'http' | 'grpc', number>>;
  /** True while parts of the server are still starting. */
  readonly isStarting: () => boolean;
}

/** The formats of a scrape. */
export type MetricsFormat = Parameters<Registry['format']>[0];

/** The metrics of a server. */
export interface Metrics {
  readonly observe: Observer;
  /** Sets where the gauges are read from. */
  connect(sources: MetricSources): void;
  /** Reads the gauges and writes all series. */
  scrape(format: MetricsFormat): Promise<AsyncGenerator<Uint8Array, void>>;
  close(): void;
}

/** Options of `createMetrics`, besides the configuration. */
export interface MetricsOptions {
  readonly version: string;
  readonly hasCallers: boolean;
  readonly descriptors: Pick<Descriptors, 'count'>;
}

/** Creates the metrics of a configuration; undefined if they are off. */
export function createMetrics(
  { enabled, tenant_label: hasTenants, max_tenants: maxTenants }: Config['metrics'],
  { version, hasCallers, descriptors }: MetricsOptions,
): Metrics | undefined {
  if (!enabled) return undefined;
  const registry = createRegistry({ hasTenants });
  const runtime = createRuntimeMetrics(registry, version, descriptors);
  let sources: MetricSources | undefined;
  return {
    observe: createMetricsObserver({ registry, maxTenants: hasTenants ? maxTenants : undefined, hasCallers }),
    connect(found) {
      sources = found;
    },
    async scrape(format) {
      await Promise.all([runtime.collect(), sources && collect(registry, sources)]);
      return encoded(registry.format(format));
    },
    close: () => runtime.close(),
  };
}

async function* encoded(pieces: Iterable<string>): AsyncGenerator<Uint8Array, void> {
  const pause = createYield();
  for (const piece of pieces) {
    yield Buffer.from(piece);
    await pause();
  }
}

/** Reads the gauges of the server. */
async function collect(registry: Registry, sources: MetricSources): Promise<void> {
  // Once: it walks all frames.
  const health = await sources.service.health();
  const usage = health.parts.store;
  registry.sample('svc_ready').value = !sources.isStarting() && isServing(health) ? 1 : 0;
  for (const [protocol, count] of Object.entries(sources.connections())) {
    registry.sample('svc_connections', protocol).value = count;
  }
  collectStatements(registry, health);
  const { frames, bytes, hits, misses, disk } = sources.frameCache();
  registry.sample('svc_frames', 'disk').value = usage.frames;
  registry.sample('svc_frames', 'memory').value = frames;
  registry.sample('svc_frame_bytes', 'disk').value = usage.bytes;
  registry.sample('svc_frame_bytes', 'memory').value = bytes;
  registry.sample('svc_store_free_bytes').value = usage.freeBytes;
  const caches = {
    hot: { bytes, hits, misses },
    disk,
    answers: { bytes: sources.answerCache.bytes, ...sources.answerCache.reads },
  };
  for (const [name, cache] of Object.entries(caches)) {
    registry.sample('svc_cache_bytes', name).value = cache.bytes;
    registry.sample('svc_cache_reads_total', name, 'hit').value = cache.hits;
    registry.sample('svc_cache_reads_total', name, 'miss').value = cache.misses;
  }
  if (sources.spans !== undefined) collectSpans(registry, sources.spans());
  if (sources.service.hasTsdb) registry.sample('svc_tsdb_connections').value = sources.tsdbConnections();
}

function collectSpans(registry: Registry, { sent, dropped, queued }: SpanCounts): void {
  registry.sample('svc_trace_spans_total', 'sent').value = sent;
  registry.sample('svc_trace_spans_total', 'dropped').value = dropped;
  registry.sample('svc_trace_spans_queued').value = queued;
}

function collectStatements(registry: Registry, { parts }: Health): void {
  for (const target of SQL_TARGETS) {
    const { queued = 0, running = 0 } = parts[target];
    registry.sample('svc_queries_queued', target).value = queued;
    registry.sample('svc_queries_running', target).value = running;
  }
}

const CONTENT_TYPES: Readonly<Record<MetricsFormat, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** Handles `/metrics`. With authentication, callers need the permission `admin`: metrics are about all tenants. */
export function metricsHandler(service: Service, metrics: Pick<Metrics, 'scrape'>): Handler {
  return async ({ c, call }) => {
    if (call.caller !== undefined && !service.useAdmin(call, 'metrics')) throw permissionDenied('admin');
    const format = metricsFormat(c.req.header('accept'));
    return { body: await metrics.scrape(format), headers: { 'content-type': CONTENT_TYPES[format], vary: 'accept' } };
  };
}

/** Chooses the format by `Accept`: OpenMetrics only for clients that name it and prefer it to plain text. */
export function metricsFormat(accept = ''): MetricsFormat {
  let [open, plain] = [0, 0];
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...params] = range.split(';').map((part) => part.trim());
    const values = new Map(params.map((param) => [param.split('=', 1)[0] ?? '', param.slice(param.indexOf('=') + 1)]));
    const quality = Number(values.get('q') ?? 1);
    const version = values.get('version')?.replaceAll('"', '');
    if (type === 'application/openmetrics-text' && (version ?? '1.0.0') === '1.0.0') open = Math.max(open, quality);
    if (type === 'text/plain' && (version ?? '0.0.4') === '0.0.4') plain = Math.max(plain, quality);
  }
  return open > 0 && open >= plain ? 'openmetrics' : 'prometheus';
}
