import { ERROR_CODES, type ServiceError, toErrorBody } from '@svc/errors';
import { ENCODINGS } from '@svc/frames';

/** By then some of the running requests have usually ended. */
const RETRY_AFTER_SECONDS = 1;

const CHALLENGE = 'Bearer realm="svc"';

/** The challenge of a 401 response to a request with credentials. */
export const INVALID_TOKEN_CHALLENGE: string = `${CHALLENGE}, error="invalid_token"`;

/** Returns the response of an error: the status of its code and its JSON body. */
export function errorResponse(
  error: ServiceError,
  requestId: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const body = JSON.stringify(toErrorBody(error, requestId));
  return new Response(body, { status: ERROR_CODES[error.code].http, headers: errorHeaders(error, requestId, headers) });
}

/** Returns the headers of the response of an error. */
export function errorHeaders(
  error: ServiceError,
  requestId: string,
  headers: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    'x-content-type-options': 'nosniff',
    ...(error.code === 'unauthenticated' && { 'www-authenticate': CHALLENGE }),
    ...(error.code === 'too_many_requests' && {
      'retry-after': String(error.retryAfterSeconds ?? RETRY_AFTER_SECONDS),
    }),
    ...headers,
    'content-type': ENCODINGS.json.out.contentType,
    'x-request-id': requestId,
  };
}
