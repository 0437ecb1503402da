import type { ErrorCode } from '@svc/errors';
import type { EventOf, Observer, Protocol } from '@svc/service';
import type { Histogram, Registry, Sample } from './registry.ts';
import { HTTP_METHODS } from './metric-table.ts';

/** Options of `createMetricsObserver`. */
export interface MetricsObserverOptions {
  readonly registry: Registry;
  /** The most tenants with a label of their own; undefined: metrics have no such label. */
  readonly maxTenants: number | undefined;
  /** Authentication is on: then a request without a caller belongs to no tenant. Default false. */
  readonly hasCallers?: boolean;
}

/** Counts events. */
export function createMetricsObserver({ registry, maxTenants, hasCallers = false }: MetricsObserverOptions): Observer {
  const tenantLabel = maxTenants === undefined ? undefined : createTenantLabels(maxTenants);
  const requests = createRequestMetrics(registry, tenantLabel, hasCallers);
  startAtZero(registry);
  return (event) => {
    switch (event.kind) {
      case 'request_started':
        requests.started(event.protocol);
        break;
      case 'request_answered':
        requests.answered(event);
        break;
      case 'frame_put':
      case 'frame_appended':
        countWrite(registry, event);
        break;
      case 'frame_dropped':
        registry.sample('svc_frames_dropped_total').value += 1;
        break;
      case 'frame_expired':
        registry.sample('svc_frames_expired_total').value += 1;
        break;
      case 'query_ended':
        countQuery(registry, event, tenantLabel);
        break;
      case 'query_forwarded':
        countForward(registry, event);
        break;
      case 'scheduler_not_stopping':
        registry.sample('svc_scheduler_not_stopping_total').value += 1;
        break;
      case 'engine_child_started':
        registry.sample('svc_engine_children', event.child).value += 1;
        break;
      case 'engine_child_exited':
        registry.sample('svc_engine_children', event.child).value -= 1;
        registry.sample('svc_engine_child_exits_total', event.child, event.reason).value += 1;
        break;
      // Part of a request or a statement, or of no interest in numbers.
      case 'audited':
      case 'caller_refused':
      case 'callers_loaded':
      case 'callers_refused':
      case 'certificate_loaded':
      case 'certificate_refused':
      case 'engine_child_answered':
      case 'frame_expiry_set':
      case 'frame_opened':
      case 'frame_renamed':
      case 'keys_loaded':
      case 'keys_refused':
      case 'tsdb_refused_credentials':
    }
  };
}

/** Creates series whose first event matters: a rate needs a 0 before it. */
function startAtZero(registry: Registry): void {
  for (const kind of ['put', 'append']) {
    registry.sample('svc_frame_writes_total', kind);
    registry.sample('svc_frame_rows_written_total', kind);
  }
  for (const kind of ['sql', 'files']) {
    registry.sample('svc_engine_children', kind);
    for (const reason of ['crashed', 'hung', 'out_of_memory', 'killed']) {
      registry.sample('svc_engine_child_exits_total', kind, reason);
    }
  }
}

function countWrite(registry: Registry, { kind, rowsWritten }: EventOf<'frame_put' | 'frame_appended'>): void {
  const label = kind === 'frame_put' ? 'put' : 'append';
  registry.sample('svc_frame_writes_total', label).value += 1;
  registry.sample('svc_frame_rows_written_total', label).value += rowsWritten;
}

function countQuery(
  registry: Registry,
  { engine, outcome, tenant, durationMs, waitMs }: EventOf<'query_ended'>,
  tenantLabel: ((tenant: string) => string) | undefined,
): void {
  const tenants = tenantLabel === undefined ? [] : [tenantLabel(tenant)];
  registry.sample('svc_queries_total', engine, outcome, ...tenants).value += 1;
  registry.histogram('svc_query_duration_seconds', engine, outcome).observe(durationMs / 1000);
  registry.histogram('svc_query_wait_seconds', engine).observe(waitMs / 1000);
}

function countForward(registry: Registry, { outcome, status, durationMs }: EventOf<'query_forwarded'>): void {
  // If a client goes away, or a request is not sent, it says nothing about the database.
  if (outcome === 'tsdb_failed' || outcome === 'deadline_exceeded') registry.sample('svc_tsdb_up').value = 0;
  else if (status !== null) registry.sample('svc_tsdb_up').value = 1;
  registry.sample('svc_tsdb_requests_total', outcome).value += 1;
  registry.histogram('svc_tsdb_request_duration_seconds', outcome).observe(durationMs / 1000);
}

/** The label of all tenants after the first ones. */
const OTHER_TENANTS = 'other';

/**
 * Returns the label of a tenant: the names of the first `maxTenants`, then `other`. A tenant of the name `other` shares
 * that label.
 */
function createTenantLabels(maxTenants: number): (tenant: string) => string {
  const known = new Set<string>();
  return (tenant) => {
    if (known.has(tenant)) return tenant;
    if (known.size >= maxTenants) return OTHER_TENANTS;
    known.add(tenant);
    return tenant;
  };
}

/** The series of requests with equal labels. */
interface RequestSeries {
  readonly requests: Sample;
  readonly duration: Histogram;
  readonly firstByte: Histogram;
  readonly requestBytes: Sample;
  readonly responseBytes: Sample;
}

/** Creates the counters of requests. Each request looks up all of its series at once. */
function createRequestMetrics(
  registry: Registry,
  tenantLabel: ((tenant: string) => string) | undefined,
  hasCallers: boolean,
) {
  const found = new Map<string, RequestSeries>();
  const inFlight: Readonly<Record<Protocol, Sample>> = {
    http: registry.sample('svc_requests_in_flight', 'http'),
    grpc: registry.sample('svc_requests_in_flight', 'grpc'),
  };
  // Most requests are like the one before: comparing costs less than a key.
  let last: RequestLabels | undefined;
  let lastSeries: RequestSeries | undefined;

  function seriesOf(labels: RequestLabels): RequestSeries {
    const { protocol, route, method, status, code, format, tenant } = labels;
    const key = [protocol, route, method, status, code, format, tenant].join('\n');
    let series = found.get(key);
    if (series === undefined) {
      const tenants = tenant === undefined ? [] : [tenant];
      series = {
        requests: registry.sample('svc_requests_total', protocol, route, method, String(status), code, ...tenants),
        duration: registry.histogram('svc_request_duration_seconds', protocol, route, method),
        firstByte: registry.histogram('svc_first_byte_seconds', protocol, route, format),
        requestBytes: registry.sample('svc_request_bytes_total', protocol, route, format),
        responseBytes: registry.sample('svc_response_bytes_total', protocol, route, format),
      };
      found.set(key, series);
    }
    return series;
  }

  /** Prometheus takes an empty label as none. */
  function tenantOf({ caller, tenant }: EventOf<'request_answered'>): string | undefined {
    if (tenantLabel === undefined) return undefined;
    return hasCallers && caller === undefined ? '' : tenantLabel(tenant);
  }

  return {
    started(protocol: Protocol): void {
      inFlight[protocol].value += 1;
    },
    answered(event: EventOf<'request_answered'>): void {
      inFlight[event.protocol].value -= 1;
      const labels = labelsOf(event, tenantOf(event));
      if (lastSeries === undefined || last === undefined || !areEqual(last, labels)) {
        lastSeries = seriesOf(labels);
        last = labels;
      }
      lastSeries.requests.value += 1;
      lastSeries.duration.observe(event.durationMs / 1000);
      lastSeries.firstByte.observe(event.firstByteMs / 1000);
      lastSeries.requestBytes.value += event.requestBytes;
      lastSeries.responseBytes.value += event.responseBytes;
    },
  };
}

interface RequestLabels {
  readonly protocol: Protocol;
  readonly route: string;
  readonly method: string;
  readonly status: number | string;
  readonly code: 'ok' | ErrorCode;
  readonly format: string;
  readonly tenant: string | undefined;
}

function labelsOf(
  { protocol, route, method, status, error, format = 'none' }: EventOf<'request_answered'>,
  tenant: string | undefined,
): RequestLabels {
  const code = error?.code ?? 'ok';
  // Otherwise every path would have series for all methods.
  const isKnown = code !== 'method_not_allowed' && code !== 'route_not_found' && HTTP_METHODS.has(method);
  return {
    protocol,
    route,
    method: isKnown ? method : 'other',
    status,
    code,
    format,
    tenant,
  };
}

function areEqual(a: RequestLabels, b: RequestLabels): boolean {
  return (
    a.route === b.route &&
    a.status === b.status &&
    a.method === b.method &&
    a.code === b.code &&
    a.format === b.format &&
    a.protocol === b.protocol &&
    a.tenant === b.tenant
  );
}
