import { ERROR_CODES, type ServiceError, toErrorBody, toServiceError } from '@svc/errors';

/** The answer to a failure: the status of its code, and its JSON body. */
export function errorResponse(
  thrown: unknown,
  requestId: string,
): { readonly response: Response; readonly error: ServiceError } {
  const error = toServiceError(thrown);
  const response = new Response(JSON.stringify(toErrorBody(error, requestId)), {
    status: ERROR_CODES[error.code].http,
    headers: { 'content-type': 'application/json; charset=utf-8', 'x-request-id': requestId },
  });
  return { response, error };
}
