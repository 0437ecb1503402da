import { ERROR_CODES, type ServiceError, toErrorBody } from '@svc/errors';
import { ENCODINGS } from '@svc/frames';

/** The answer to a failure: the status of its code, and its JSON body. */
export function errorResponse(
  error: ServiceError,
  requestId: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify(toErrorBody(error, requestId)), {
    status: ERROR_CODES[error.code].http,
    headers: {
      'x-content-type-options': 'nosniff',
      ...headers,
      'content-type': ENCODINGS.json.out.contentType,
      'x-request-id': requestId,
    },
  });
}
