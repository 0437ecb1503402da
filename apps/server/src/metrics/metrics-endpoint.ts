import { permissionDenied } from '@svc/auth';
import type { Handler } from '@svc/exec-http';
import type { Service } from '@svc/service';
import type { Metrics, MetricsFormat } from './metrics.ts';

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
