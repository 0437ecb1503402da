import type { EventOf, Observer } from '@svc/service';
import type { Registry } from './registry.ts';
import { createRequestMetrics } from './request-metrics.ts';

/** Options of `createMetricsObserver`. */
export interface MetricsObserverOptions {
  readonly registry: Registry;
  /** The most tenants that have a label of their own; undefined: metrics have no such label. */
  readonly maxTenants: number | undefined;
  /** Whether authentication is on: then a request without a caller belongs to no tenant. Default false. */
  readonly hasCallers?: boolean;
}

/** Counts events. */
export function createMetricsObserver({ registry, maxTenants, hasCallers = false }: MetricsObserverOptions): Observer {
  const tenantLabel = maxTenants === undefined ? undefined : createTenantLabels(maxTenants);
  const requests = createRequestMetrics({ registry, tenantLabel, hasCallers });
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
  // A client that goes away, or a request that is not sent, says nothing about the database.
  if (outcome === 'tsdb_failed' || outcome === 'deadline_exceeded') registry.sample('svc_tsdb_up').value = 0;
  else if (status !== null) registry.sample('svc_tsdb_up').value = 1;
  registry.sample('svc_tsdb_requests_total', outcome).value += 1;
  registry.histogram('svc_tsdb_request_duration_seconds', outcome).observe(durationMs / 1000);
}

/** The label of all tenants after the first ones. */
const OTHER_TENANTS = 'other';

/**
 * Returns the label of a tenant: its name for the first `maxTenants` that are seen, else `other`. A tenant that is called
 * `other` shares that label.
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
