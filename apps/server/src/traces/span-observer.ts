import { ERROR_CODES, type ErrorCode } from '@svc/errors';
import { type EngineSpan, startSpan, type TraceContext } from '@svc/frames';
import type { EventOf, Observer, SqlTarget } from '@svc/service';
import { OTHER_ROUTE } from '@svc/service/internal';
import { HTTP_METHODS } from '../metrics/metric-table.ts';
import type { Span, SpanAttributes } from './send-spans.ts';

/** What differs between the spans of one event. */
interface Step extends Pick<Span, 'endMs' | 'name'> {
  readonly durationMs: number;
  readonly kind?: Span['kind'];
  readonly attributes?: SpanAttributes;
  readonly failure?: string | undefined;
}

/** Turns the events of sampled requests into spans. An event comes when its step has ended, and has the duration. */
export function createSpanObserver(record: (span: Span) => void, now: () => number = createWallClock()): Observer {
  const starts = createSpanStarts();

  /** Records a span under its own context. */
  function add({ traceId, spanId, parentSpanId, traceState }: TraceContext, step: Step): void {
    const { name, endMs, durationMs, kind = 'internal', attributes = {}, failure } = step;
    const startMs = starts.begin(spanId, endMs - durationMs);
    // The parent of a server's span is a span of the client.
    if (kind !== 'server' && parentSpanId !== undefined) starts.include(parentSpanId, startMs);
    record({ traceId, spanId, parentSpanId, traceState, name, kind, startMs, endMs, attributes, failure });
  }

  function addQuery(trace: TraceContext, event: EventOf<'query_ended'>): void {
    const { engine, code, waitMs, executeMs, durationMs } = event;
    const endMs = now();
    const phases = [
      { name: 'wait', durationMs: waitMs },
      { name: 'execute', durationMs: executeMs },
      { name: 'send', durationMs: durationMs - waitMs - executeMs },
    ];
    let phaseEndMs = endMs - durationMs;
    for (const phase of phases) {
      phaseEndMs += phase.durationMs;
      if (phase.durationMs > 0) add(startSpan(trace), { ...phase, endMs: phaseEndMs });
    }
    const attributes = {
      'svc.engine': engine,
      'db.system.name': SYSTEMS[engine],
      'svc.outcome': event.outcome,
      'svc.rows': event.rows,
      'svc.bytes': event.bytes,
      'error.type': code,
    };
    add(trace, { name: `query ${engine}`, endMs, durationMs, attributes, failure: faultOf(code) });
  }

  function addWrite(trace: TraceContext, event: EventOf<'frame_put' | 'frame_appended'>): void {
    const { rows, bytes, durationMs, receiveMs } = event;
    const endMs = now();
    const span = startSpan(trace);
    const attributes = { 'svc.rows': rows, 'svc.bytes': bytes };
    if (receiveMs !== undefined) {
      const writeMs = durationMs - receiveMs;
      add(startSpan(span), { name: 'receive', endMs: endMs - writeMs, durationMs: receiveMs });
      add(startSpan(span), { name: 'write', endMs, durationMs: writeMs });
    }
    add(span, { name: event.kind === 'frame_put' ? 'put frame' : 'append frame', endMs, durationMs, attributes });
  }

  function addWork(trace: TraceContext, spans: readonly EngineSpan[]): void {
    const nowMs = now();
    for (const { spanId, parentSpanId, endedMsAgo, ...step } of spans) {
      add({ ...trace, spanId, parentSpanId }, { ...step, endMs: nowMs - endedMsAgo });
    }
  }

  return (event) => {
    // Most requests are not sampled: they must cost nothing.
    if (!('trace' in event) || event.trace?.isRecorded !== true) return;
    const { trace } = event;
    if (event.kind === 'request_answered') {
      add(trace, { ...requestStep(event), endMs: now(), durationMs: event.durationMs, kind: 'server' });
    } else if (event.kind === 'query_ended') {
      addQuery(trace, event);
    } else if (event.kind === 'query_forwarded') {
      add(trace, { ...forwardStep(event), endMs: now(), durationMs: event.durationMs, kind: 'client' });
    } else if (event.kind === 'frame_opened') {
      add(startSpan(trace), { name: 'read frame', endMs: now(), durationMs: event.durationMs });
    } else if (event.kind === 'frame_put' || event.kind === 'frame_appended') {
      addWrite(trace, event);
    } else if (event.kind === 'engine_child_answered') {
      addWork(trace, event.spans);
    }
  };
}

/** Open spans with finished steps. */
interface SpanStarts {
  /** A step of a span began. */
  include(spanId: string, startMs: number): void;
  /** Returns the start of a finished span: not after its first step. */
  begin(spanId: string, startMs: number): number;
}

/** A request without an answer would leave its span. */
const MAX_STARTS = 4096;

/**
 * A start is computed when the event of a step arrives, perhaps a moment later. The start of the whole, computed later
 * still, would then be after its first step.
 */
function createSpanStarts(): SpanStarts {
  const starts = new Map<string, number>();
  return {
    include(spanId, startMs) {
      starts.set(spanId, Math.min(startMs, starts.get(spanId) ?? Infinity));
      const [oldest] = starts.keys();
      if (starts.size > MAX_STARTS && oldest !== undefined) starts.delete(oldest);
    },
    begin(spanId, startMs) {
      const firstMs = starts.get(spanId) ?? Infinity;
      starts.delete(spanId);
      return Math.min(startMs, firstMs);
    },
  };
}

/** The names of OpenTelemetry. The database behind `tsdb` and the cluster are not known. */
const SYSTEMS: Readonly<Record<SqlTarget, string>> = { local: 'duckdb', tsdb: 'other_sql', scheduler: 'other_sql' };

function requestStep(event: EventOf<'request_answered'>): Pick<Step, 'attributes' | 'failure' | 'name'> {
  const { protocol, route, status, error } = event;
  const common = {
    'svc.request_id': event.requestId,
    'svc.rows': event.rows,
    'svc.format': event.format,
    'error.type': error?.code,
  };
  const sizes = { 'http.request.body.size': event.requestBytes, 'http.response.body.size': event.responseBytes };
  const failure = faultOf(error?.code) ?? faultyStatus(status);
  if (protocol === 'grpc') {
    const [service, method] = route.split('/');
    const rpc = { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': method };
    const code = GRPC_STATUSES.indexOf(String(status));
    const attributes = { ...rpc, 'rpc.grpc.status_code': code < 0 ? undefined : code, ...common, ...sizes };
    return { name: route === OTHER_ROUTE ? 'grpc' : route, attributes, failure };
  }
  const method = HTTP_METHODS.has(event.method) ? event.method : '_OTHER';
  const http = { 'http.request.method': method, 'http.response.status_code': Number(status) };
  const isKnown = route !== OTHER_ROUTE;
  const attributes = { ...http, 'http.route': isKnown ? route : undefined, ...common, ...sizes };
  return { name: isKnown ? `${method} ${route}` : method.replace('_OTHER', 'HTTP'), attributes, failure };
}

function forwardStep(event: EventOf<'query_forwarded'>): Pick<Step, 'attributes' | 'failure' | 'name'> {
  const { status, outcome } = event;
  const code = outcome === 'ok' ? undefined : outcome;
  const attributes = {
    'http.request.method': 'GET',
    'http.response.status_code': status ?? undefined,
    'svc.outcome': outcome,
    'error.type': code,
  };
  return { name: 'forward tsdb', attributes, failure: faultOf(code) };
}

/** Returns the code of an error, unless it is the client's own. */
function faultOf(code: ErrorCode | undefined): ErrorCode | undefined {
  return code !== undefined && ERROR_CODES[code].http >= 500 ? code : undefined;
}

function faultyStatus(status: number | string): string | undefined {
  const isFault = typeof status === 'number' ? status >= 500 : FAULTY_STATUSES.has(status);
  return isFault ? String(status) : undefined;
}

const FAULTY_STATUSES: ReadonlySet<string> = new Set(['UNKNOWN', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS']);

/** The names of gRPC statuses, by number. */
const GRPC_STATUSES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
];

/** The largest difference to the system clock before the clock is set again. */
const MAX_DRIFT_MS = 5;

/**
 * Returns a clock of Unix time with fractions of milliseconds. It follows the system clock when it is set, but not its
 * jitter: a span must not end before one inside of it.
 */
export function createWallClock(systemMs: () => number = Date.now, elapsedMs = () => performance.now()): () => number {
  let originMs = systemMs() - elapsedMs();
  return () => {
    const elapsed = elapsedMs();
    const now = systemMs();
    if (Math.abs(now - originMs - elapsed) > MAX_DRIFT_MS) originMs = now - elapsed;
    return originMs + elapsed;
  };
}
