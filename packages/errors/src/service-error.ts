import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

/** Optional details of a `ServiceError`. */
export interface ServiceErrorOptions {
  /** What the client can do about it. Default: the hint of the code. */
  readonly hint?: string;
  /** The SQL the error is about. */
  readonly query?: string;
  /** The offset of the error in `query`, in characters from 0. */
  readonly position?: number;
  /** When to send the request again, in seconds from now. */
  readonly retryAfterSeconds?: number;
  /** The underlying failure: for the log, never for the client. */
  readonly cause?: unknown;
}

/** A failure with a code. Its message and hint are for the client. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly hint: string;
  readonly query: string | undefined;
  readonly position: number | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.hint = options.hint ?? ERROR_CODES[code].hint;
    this.query = options.query;
    this.position = options.position;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** The messages of Node and of the system if a process, or all of them together, have as many files open as they may. */
const TOO_MANY_FILES = /\bE[MN]FILE\b|too many open files/i;

/** True for an error of too many open files and connections. It passes when others are closed. */
export function isOutOfFiles(error: unknown): boolean {
  return error instanceof Error && TOO_MANY_FILES.test(error.message);
}

/**
 * Converts any thrown value to a `ServiceError`. A value without a code becomes `internal` with a fixed message, so that
 * no detail of an unknown failure reaches a client; the thrown value is the `cause`.
 */
export function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  if (isOutOfFiles(thrown)) {
    return new ServiceError('unavailable', 'The server has as many files and connections open as the system allows.', {
      hint: 'Retry in a moment, with fewer requests at once. The operator can raise the limit with ulimit -n.',
      cause: thrown,
    });
  }
  return new ServiceError('internal', 'The server failed to answer this request.', { cause: thrown });
}

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
