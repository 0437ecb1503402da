import { ServiceError } from '@svc/errors';
import type { Health, Service } from '@svc/service';
import type { Handlers } from './endpoint.ts';
import { jsonResponse } from './json-response.ts';

/** What the endpoints about the state of the server look at. */
export interface StateOptions {
  readonly service: Service;
  /** Whether a part of the server that requests may need is not up yet. Default: never. */
  readonly isStarting?: (() => boolean) | undefined;
}

/** `/health`: the state of all parts, for people and dashboards. */
export function healthHandlers({ service }: StateOptions): Handlers {
  return {
    GET: async () => {
      const health = await service.health();
      return jsonResponse(health, ['ok', 'degraded'].includes(health.status) ? 200 : 503);
    },
  };
}

/** `/ready`: whether requests should be sent here, for load balancers. It never asks the time-series database. */
export function readyHandlers({ service, isStarting = () => false }: StateOptions): Handlers {
  return {
    GET: async () => {
      const reason = isStarting() ? 'The server is starting.' : reasonOf(await service.health());
      if (reason === undefined) return jsonResponse({ status: 'ready' });
      return { error: new ServiceError('unavailable', reason, { hint: 'GET /health shows the state of each part.' }) };
    },
  };
}

/** `/livez`: the process answers. A store that is broken does not get better by starting it again. */
export const LIVE_HANDLERS: Handlers = { GET: () => jsonResponse({ status: 'alive' }) };

/** Why a service is not ready; undefined if it is. Frames that are damaged do not count: all others can be read. */
function reasonOf({ status, parts }: Health): string | undefined {
  if (status === 'stopping') return 'The server is stopping.';
  if (status !== 'failing') return undefined;
  const faults = parts.store.faults?.filter(({ kind }) => kind !== 'damaged_frame') ?? [];
  return faults.map(({ message }) => message).join(' ');
}
