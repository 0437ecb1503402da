/** A request that the server refused or could not answer, with its code and hint. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: string;
  readonly status: number;
  readonly hint: string | undefined;
  /** Where in the SQL the error is, in characters from 0. */
  readonly position: number | undefined;
  readonly requestId: string | undefined;
  /** How long the server asks to wait before the next try. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    details: Omit<ApiError, keyof Error | 'retryAfterMs'> & { readonly retryAfterMs?: number },
  ) {
    super(message);
    this.code = details.code;
    this.status = details.status;
    this.hint = details.hint;
    this.position = details.position;
    this.requestId = details.requestId;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** The server did not answer at all, or its answer was cut off. */
export class ServerGone extends Error {
  override readonly name = 'ServerGone';
}
