import { ServiceError, type ServiceErrorOptions } from '@svc/errors';

/** Returns the error of a cluster that cannot be reached, or that does not answer as it should. */
export function schedulerFailed(message: string, options?: ServiceErrorOptions): ServiceError {
  return new ServiceError('scheduler_failed', message, options);
}
