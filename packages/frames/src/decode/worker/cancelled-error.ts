import { ServiceError } from '@svc/errors';

/** The error of a decoding whose signal was aborted: the signal's own reason where that has a code. */
export function cancelledError(reason: unknown): ServiceError {
  if (reason instanceof ServiceError) return reason;
  return new ServiceError('cancelled', 'The upload was given up before its end.', { cause: reason });
}
