import type { ErrorCode } from '@svc/errors';

/** The codes of failures without an answer of the server. */
export type FailureCode =
  /** There was no answer: the connection failed, or a browser does not show the answer to this page. */
  | 'unreachable'
  /** The answer ended early. */
  | 'connection_lost'
  /** The server was silent for `timeoutMs`. */
  | 'timeout'
  /** The answer does not come from a data-frame server. */
  | 'invalid_response'
  /** A value cannot be sent, or not be returned as a `number`, without losing digits. */
  | 'inexact_value'
  /** A conditional write was repeated after a lost connection, and refused: the first one may have been taken. */
  | 'ambiguous_write'
  /** `apache-arrow` is not installed. */
  | 'arrow_missing';

/** What is known of a failure. */
export interface ClientErrorDetails {
  /** That of the server; `http_…` with the status for an error of another program, such as a proxy or the time-series database. */
  readonly code: ErrorCode | FailureCode | `http_${number}`;
  /** What to do. */
  readonly hint?: string | undefined;
  /** The status of the answer, if there was one. */
  readonly status?: number | undefined;
  /** Where in the SQL the error is, in characters from 0. */
  readonly position?: number | undefined;
  /** Identifies the request in the log of the server. */
  readonly requestId?: string | undefined;
  /** True if a write may have been taken although it failed. */
  readonly isAmbiguous?: boolean;
  /** How long the server asks to wait before the next attempt. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** A failed request. */
export class ClientError extends Error {
  override readonly name = 'ClientError';
  declare readonly code: ClientErrorDetails['code'];
  declare readonly hint: string | undefined;
  declare readonly status: number | undefined;
  declare readonly position: number | undefined;
  declare readonly requestId: string | undefined;
  declare readonly isAmbiguous: boolean;
  declare readonly retryAfterMs: number | undefined;

  constructor(message: string, { cause, ...details }: ClientErrorDetails) {
    super(message, { cause });
    Object.assign(this, { isAmbiguous: false }, details);
  }
}

/** Returns the error in the text of an answer; that of another server has only its status. */
export function errorFromText(
  status: number,
  text: string,
  { requestId, retryAfterMs }: Pick<ClientErrorDetails, 'requestId' | 'retryAfterMs'>,
): ClientError {
  const { error, code, hint, position, requestId: own } = parsedObject(text);
  const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  return new ClientError(textOf(error) ?? `The server answered with status ${status}.`, {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- A newer server may have other codes.
    code: (textOf(code) as ErrorCode | undefined) ?? `http_${status}`,
    status,
    hint: textOf(hint),
    position: typeof position === 'number' ? position : undefined,
    requestId: textOf(own) ?? requestId,
    retryAfterMs,
  });
}

/** Makes the error of a response of another program. */
export function invalidResponse(message: string, details: Partial<ClientErrorDetails> = {}): ClientError {
  const hint = 'Check that the URL, with its path, is that of a data-frame server.';
  return new ClientError(message, { ...details, code: 'invalid_response', hint });
}

/** Makes the error of a response without its end. */
export function cutOff(details: { readonly requestId: string; readonly cause?: unknown }): ClientError {
  return new ClientError('The connection broke before the response was complete.', {
    ...details,
    code: 'connection_lost',
    hint: 'Send the request again; the log of the server may say why it stopped.',
  });
}

function parsedObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
