import { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import { type Health, isServing, type Service, type SqlTarget, type StoreHealth } from '@svc/service';
import type { HandlersOf } from './endpoint.ts';
import { jsonResponse } from './json-response.ts';

/** Options of the health endpoints. */
export interface StateOptions {
  readonly service: Service;
  /** Whether requests are authenticated: details of the health are only for callers. Default false. */
  readonly hasCallers?: boolean;
  /** Whether a part of the server that requests may need is still starting. Default: never. */
  readonly isStarting?: (() => boolean) | undefined;
  /** The engine of SQL that names none. Default `tsdb`. */
  readonly defaultEngine?: SqlTarget | undefined;
}

/** The health as a caller sees it: usage and faults of the store tell about the frames of all tenants. */
export interface ShownHealth extends Partial<Omit<Health, 'parts' | 'status'>> {
  readonly status: Health['status'];
  readonly defaultEngine?: SqlTarget;
  readonly parts?: Omit<Health['parts'], 'store'> & {
    readonly store: Pick<StoreHealth, 'status'> & Partial<StoreHealth>;
  };
}

/** Handles `/health`: the state of all parts, for people and dashboards. */
export function healthHandlers({
  service,
  defaultEngine = 'tsdb',
  hasCallers = false,
}: StateOptions): HandlersOf<'GET'> {
  return {
    GET: async ({ call }) => {
      const health = await service.health();
      const { parts, ...server } = hasCallers ? visibleHealth(service, health, call) : health;
      const shown: ShownHealth = parts === undefined ? server : { ...server, defaultEngine, parts };
      return jsonResponse(shown, isServing(health) ? 200 : 503);
    },
  };
}

function visibleHealth(service: Service, health: Health, call: Call): Omit<ShownHealth, 'defaultEngine'> {
  if (call.caller === undefined) return { status: health.status };
  if (service.useAdmin(call, 'health')) return health;
  const { parts } = health;
  const { store, local, scheduler, tsdb } = parts;
  const shown = {
    store: { status: store.status },
    local: { status: local.status },
    scheduler: { status: scheduler.status },
    tsdb: { status: tsdb.status },
  };
  return { ...health, parts: { ...parts, ...shown } };
}

/** Handles `/ready`, a readiness probe for load balancers. It does not check the time-series database. */
export function readyHandlers({ service, isStarting = () => false }: StateOptions): HandlersOf<'GET'> {
  return {
    GET: async () => {
      const reason = isStarting() ? 'The server is starting.' : reasonOf(await service.health());
      if (reason === undefined) return jsonResponse({ status: 'ready' });
      return { error: new ServiceError('unavailable', reason, { hint: 'GET /health shows the state of each part.' }) };
    },
  };
}

/** Handles `/ping`: whether the listener answers. */
export const PING_HANDLERS: HandlersOf<'GET'> = {
  GET: () => ({ body: 'ok', headers: { 'content-type': 'text/plain; charset=utf-8' } }),
};

/** Handles `/livez`, a liveness probe. It ignores the store: a restart would not repair it. */
export const LIVE_HANDLERS: HandlersOf<'GET'> = { GET: () => jsonResponse({ status: 'alive' }) };

/** Returns why a service is not ready; undefined if it is. Damaged frames do not count: the others can be read. */
function reasonOf({ status, parts }: Health): string | undefined {
  if (status === 'stopping') return 'The server is stopping.';
  if (status === 'draining') return 'The server is draining: it answers requests, and stops soon.';
  if (status !== 'failing') return undefined;
  const faults = parts.store.faults?.filter(({ kind }) => kind !== 'damaged_frame') ?? [];
  return faults.map(({ message }) => message).join(' ');
}
