import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

/** What a `ServiceError` can carry beside its code and message. */
export interface ServiceErrorOptions {
  /** What the reader can do about it. Default: the hint of the code. */
  readonly hint?: string;
  /** The SQL the error is about. */
  readonly query?: string;
  /** Where in `query` the error is, counted from 0 in characters. */
  readonly position?: number;
  /** The failure behind it: for the log, never for the client. */
  readonly cause?: unknown;
}

/** A failure that has a code; its message and hint are written for the client. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly hint: string;
  readonly query: string | undefined;
  readonly position: number | undefined;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.hint = options.hint ?? ERROR_CODES[code].hint;
    this.query = options.query;
    this.position = options.position;
  }
}

/**
 * Any thrown value as a `ServiceError`. What has no code becomes `internal` with a fixed text, so that nothing of an
 * unknown failure reaches a client; the thrown value stays as `cause`.
 */
export function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  return new ServiceError('internal', 'The server failed to answer this request.', { cause: thrown });
}
