import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { Call } from '@svc/frames';
import { type HealthDefinition, HealthCheckResponseServingStatus as ServingStatus } from '@svc/proto';
import { isServing, type Service } from '@svc/service';
import { ServerError, type ServiceImplementation, Status } from 'nice-grpc';

/** Options of the health service. */
export interface HealthServiceOptions {
  readonly service: Service;
  /** The full names of the services of this server. */
  readonly names: readonly string[];
  /** Returns the current call. */
  readonly current: () => Call;
}

/** How often to poll the service, for all `Watch` calls together. */
const POLL_MS = 1000;

/** Implements `grpc.health.v1.Health`: SERVING while the store works, until the service or the server stops. */
export function createHealthService(options: HealthServiceOptions): ServiceImplementation<typeof HealthDefinition> {
  const { service, names, current } = options;
  const isKnown = (name: string) => name === '' || names.includes(name);

  async function servingStatus(): Promise<number> {
    return isServing(await service.health()) ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }

  /** One poll serves all watchers. */
  let seen: { readonly atMs: number; readonly status: Promise<number> } | undefined;
  function recentStatus(): Promise<number> {
    if (seen === undefined || performance.now() - seen.atMs >= POLL_MS / 2) {
      seen = { atMs: performance.now(), status: servingStatus() };
    }
    return seen.status;
  }

  return {
    async check(request) {
      if (isKnown(request.service)) return { status: await servingStatus() };
      throw new ServerError(Status.NOT_FOUND, `This server has no service ${quoted(request.service)}.`);
    },

    async *watch(request) {
      const { signal } = current();
      if (!isKnown(request.service)) {
        yield { status: ServingStatus.SERVICE_UNKNOWN };
        if (!signal.aborted) await once(signal, 'abort');
        signal.throwIfAborted();
        return;
      }
      let status = await servingStatus();
      yield { status };
      while (!signal.aborted) {
        await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
        const isStopping = signal.reason instanceof ServiceError && signal.reason.code === 'unavailable';
        if (signal.aborted && !isStopping) break;
        const next = isStopping ? ServingStatus.NOT_SERVING : await recentStatus();
        if (next !== status) yield { status: next };
        status = next;
      }
      signal.throwIfAborted();
    },
  };
}
