import { once } from 'node:events';
import { quoted, ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import { type HealthDefinition, HealthCheckResponseServingStatus as ServingStatus } from '@svc/proto';
import type { Service } from '@svc/service';
import { ServerError, type ServiceImplementation, Status } from 'nice-grpc';

/** What the health service needs to know. */
export interface HealthServiceOptions {
  readonly service: Service;
  /** The full names of the services this server has. */
  readonly names: readonly string[];
  /** The call that is being answered. */
  readonly current: () => Call;
}

/** `grpc.health.v1.Health`: serving until the service or the server stops. */
export function createHealthService(options: HealthServiceOptions): ServiceImplementation<typeof HealthDefinition> {
  const { service, names, current } = options;
  const isKnown = (name: string) => name === '' || names.includes(name);

  async function servingStatus(): Promise<number> {
    const { status } = await service.health();
    return ['ok', 'degraded'].includes(status) ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }

  return {
    async check(request) {
      if (isKnown(request.service)) return { status: await servingStatus() };
      throw new ServerError(Status.NOT_FOUND, `This server has no service ${quoted(request.service)}.`);
    },

    async *watch(request) {
      const { signal } = current();
      yield { status: isKnown(request.service) ? await servingStatus() : ServingStatus.SERVICE_UNKNOWN };
      if (!signal.aborted) await once(signal, 'abort');
      const isStopping = signal.reason instanceof ServiceError && signal.reason.code === 'unavailable';
      if (isStopping && isKnown(request.service)) yield { status: ServingStatus.NOT_SERVING };
      signal.throwIfAborted();
    },
  };
}
