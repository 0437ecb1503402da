/**
 * The closed set of error codes, and the error class that carries them.
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
export { type ErrorBody, toErrorBody } from './error-body.ts';
export { nearestName } from './nearest-name.ts';
export { ServiceError, type ServiceErrorOptions, toServiceError } from './service-error.ts';
