import { Metadata, status as Status } from '@grpc/grpc-js';
import { ERROR_CODES, type ErrorCode, type ServiceError } from '@svc/errors';

/** The trailing metadata that names a request. */
export const REQUEST_ID_KEY = 'x-request-id';

/** The trailing metadata that carries the code of an error. */
const ERROR_CODE_KEY = 'svc-error-code';

/** The trailing metadata that carries the hint of an error, percent-encoded where it is not printable ASCII. */
const ERROR_HINT_KEY = 'svc-error-hint';

/** How a call ends in gRPC's terms. */
export interface CallStatus {
  readonly code: Status;
  readonly details: string;
  readonly metadata: Metadata;
}

/** The call that failed. */
export interface FailedCall {
  /** The full name of the RPC. */
  readonly operation: string;
  readonly requestId: string;
}

/** The gRPC status of an error: the code of the error alone decides it. */
export function errorStatus(error: ServiceError, { operation, requestId }: FailedCall): CallStatus {
  const metadata = new Metadata();
  metadata.set(REQUEST_ID_KEY, requestId);
  metadata.set(ERROR_CODE_KEY, error.code);
  metadata.set(ERROR_HINT_KEY, percentEncoded(bounded(hintOf(error))));
  // Clients of Flight show this text and nothing of the metadata; a hint that only repeats the code is left out.
  const isShown = operation.startsWith(FLIGHT) && error.hint !== ERROR_CODES[error.code].hint;
  const details = isShown ? `${error.message} ${error.hint}` : error.message;
  return { code: Status[ERROR_CODES[error.code].grpc], details: bounded(details), metadata };
}

const FLIGHT = 'arrow.flight.protocol.';

/** The hint of an error, where it is the one of its code put in this protocol's words. */
function hintOf({ code, hint }: ServiceError): string {
  return hint === ERROR_CODES[code].hint ? (HINTS[code] ?? hint) : hint;
}

/** Clients refuse trailers over 8 KiB, and grpc-js cannot send half a surrogate pair. */
function bounded(text: string): string {
  const cut = text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
  return Buffer.from(cut).toString();
}

function percentEncoded(text: string): string {
  return text.replaceAll(/[^ -$&-~]/gu, encodeURIComponent);
}

const MAX_TEXT_LENGTH = 1000;

const HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  handle_exists: 'Choose another handle, or replace the frame without if_absent.',
  handle_not_found: 'ListFrames lists all handles.',
  invalid_data: 'Check that the chunks together are one whole Arrow IPC stream or file.',
};
