import { cancelledError, type ServiceError } from '@svc/errors';

/** Returns the error of an upload whose signal was aborted. */
export function cancelledUpload(reason: unknown): ServiceError {
  return cancelledError(reason, 'The upload was cancelled before its end.');
}
