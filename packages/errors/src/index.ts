/**
 * The closed set of error codes, and the class of errors with such a code.
 *
 * ```ts
 * import { ERROR_CODES, ServiceError, toErrorBody } from '@svc/errors';
 *
 * const error = new ServiceError('handle_not_found', 'There is no frame "trades".');
 * ERROR_CODES[error.code].http; // 404
 * toErrorBody(error, 'r-1'); // { error, code, hint, requestId }
 * ```
 */
export { abortError, cancelledError, onAbort } from './cancellation.ts';
export { ERROR_CODES, type ErrorCode, type ErrorCodeRow, type GrpcStatusName } from './error-codes.ts';
export {
  type ErrorBody,
  ServiceError,
  type ServiceErrorOptions,
  toErrorBody,
  toServiceError,
} from './service-error.ts';
export { nearestName } from './text.ts';
