import { Metadata, status as Status } from '@grpc/grpc-js';
import { ERROR_CODES, type ErrorCode, type ServiceError } from '@svc/errors';

/** The trailing metadata with the id of a request. */
export const REQUEST_ID_KEY = 'x-request-id';

/** The trailing metadata with the code of an error. */
const ERROR_CODE_KEY = 'svc-error-code';

/** The trailing metadata with the hint of an error, percent-encoded if it is not printable ASCII. */
const ERROR_HINT_KEY = 'svc-error-hint';

/** The trailing metadata with the position of an error in the SQL, in characters from 0. */
const ERROR_POSITION_KEY = 'svc-error-position';

/** The trailing metadata with the seconds until a retry. */
const RETRY_AFTER_KEY = 'retry-after';

/** The gRPC status of a call. */
interface CallStatus {
  readonly code: Status;
  readonly details: string;
  readonly metadata: Metadata;
}

/** A failed call. */
interface FailedCall {
  /** The full name of the RPC. */
  readonly operation: string;
  readonly requestId: string;
}

/** Returns the gRPC status of an error: its code decides. */
export function errorStatus(error: ServiceError, { operation, requestId }: FailedCall): CallStatus {
  const metadata = new Metadata();
  metadata.set(REQUEST_ID_KEY, requestId);
  metadata.set(ERROR_CODE_KEY, error.code);
  metadata.set(ERROR_HINT_KEY, percentEncoded(bounded(hintOf(error))));
  if (error.position !== undefined) metadata.set(ERROR_POSITION_KEY, String(error.position));
  if (error.code === 'too_many_requests') metadata.set(RETRY_AFTER_KEY, String(error.retryAfterSeconds ?? 1));
  // Flight clients show only this text, not the metadata. Omit the default hint of the code.
  const isShown = operation.startsWith(FLIGHT) && error.hint !== ERROR_CODES[error.code].hint;
  const details = isShown ? `${error.message} ${error.hint}` : error.message;
  return { code: Status[ERROR_CODES[error.code].grpc], details: bounded(details), metadata };
}

const FLIGHT = 'arrow.flight.protocol.';

/** Returns the hint of an error, with default hints about HTTP reworded for gRPC. */
function hintOf({ code, hint }: ServiceError): string {
  return hint === ERROR_CODES[code].hint ? (HINTS[code] ?? hint) : hint;
}

/** Truncates a text: clients reject trailers over 8 KiB, and grpc-js cannot send an unpaired surrogate. */
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
