import type { ErrorCode } from './error-codes.ts';
import type { ServiceError } from './service-error.ts';

/** The JSON body of an error: flat, with `error` first, as tools for an `/exec` endpoint expect. */
export interface ErrorBody {
  readonly error: string;
  readonly code: ErrorCode;
  readonly hint: string;
  readonly query?: string;
  readonly position?: number;
  readonly requestId: string;
}

/** Returns the JSON body of an error. */
export function toErrorBody(error: ServiceError, requestId: string): ErrorBody {
  return {
    error: error.message,
    code: error.code,
    hint: error.hint,
    ...(error.query === undefined ? {} : { query: error.query }),
    ...(error.position === undefined ? {} : { position: error.position }),
    requestId,
  };
}
