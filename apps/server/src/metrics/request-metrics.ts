import type { ErrorCode } from '@svc/errors';
import type { EventOf, Protocol } from '@svc/service';
import { HTTP_METHODS } from '../observers/http-methods.ts';
import type { Histogram, Registry, Sample } from './registry.ts';

/** Counts requests. */
export interface RequestMetrics {
  started(protocol: Protocol): void;
  answered(event: EventOf<'request_answered'>): void;
}

/** Options of `createRequestMetrics`. */
export interface RequestMetricsOptions {
  readonly registry: Registry;
  /** Returns the label of a tenant; undefined if metrics have none. */
  readonly tenantLabel: ((tenant: string) => string) | undefined;
  /** Whether authentication is on: then a request without a caller belongs to no tenant. */
  readonly hasCallers: boolean;
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
export function createRequestMetrics({ registry, tenantLabel, hasCallers }: RequestMetricsOptions): RequestMetrics {
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
    started(protocol) {
      inFlight[protocol].value += 1;
    },
    answered(event) {
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
