import { ServiceError } from '@svc/errors';

/** Returns the error of an aborted decode: the abort reason if it is a `ServiceError`. */
export function cancelledError(reason: unknown): ServiceError {
  if (reason instanceof ServiceError) return reason;
  return new ServiceError('cancelled', 'The upload was cancelled before its end.', { cause: reason });
}
