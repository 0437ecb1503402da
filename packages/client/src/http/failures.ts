import { ClientError, cutOff } from './client-error.ts';
import type { SentBody } from './request-body.ts';
import { errorOf } from './send-once.ts';
import type { Silence } from './silence.ts';
import type { ClientRequest, ClientResponse } from './request.ts';

/** One request, and what its errors tell. */
export interface Exchange {
  readonly url: string;
  readonly request: ClientRequest;
  readonly requestId: string;
  readonly repeat: NonNullable<ClientRequest['repeat']>;
  readonly silence: Silence;
  readonly body: SentBody;
}

/** Failures of Node before any byte of a request was sent. */
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/** Says what is known of a connection that failed, before or after the head of the response. */
export function connectionFailure(
  failure: unknown,
  { url, request, requestId, repeat, silence, body }: Exchange,
): unknown {
  if (request.signal?.aborted) return request.signal.reason;
  const sourceError = body.sourceError();
  if (sourceError !== undefined) return sourceError;
  const cause = failure instanceof ClientError ? failure.cause : failure;
  const reason = codeOf(cause);
  const details = { requestId, cause, isAmbiguous: repeat !== 'read' && !NOT_SENT.has(reason) };
  if (silence.isTooLong) {
    const hint = 'Raise timeoutMs if the server needs longer.';
    return new ClientError(`The server ${url} does not answer.`, { ...details, code: 'timeout', hint });
  }
  if (failure instanceof ClientError && failure.code === 'connection_lost') return cutOff(details);
  const hint = 'Check the URL and whether the server runs; in a browser, also http.cors_origins.';
  return new ClientError(`The server ${url} cannot be reached: ${reason}.`, { ...details, code: 'unreachable', hint });
}

function codeOf(error: unknown): string {
  const cause: unknown = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (typeof cause !== 'object' || cause === null) return String(cause);
  if ('code' in cause && typeof cause.code === 'string') return cause.code;
  return cause instanceof Error ? cause.message : 'unknown';
}

/** Makes the error of a response that is not accepted. */
export async function refusalOf(
  response: ClientResponse,
  { url }: Exchange,
  { isLost }: { readonly isLost: boolean },
): Promise<ClientError> {
  const { status, headers, body, requestId } = response;
  const location = headers.get('location');
  // A browser shows nothing of a redirect, not even its status.
  if (location !== null || status === 0) {
    await body.return();
    const target = location === null ? '' : ` to ${JSON.stringify(location)}`;
    const hint = 'Use that address as the URL.';
    const details = { code: 'invalid_response', status, requestId, hint } as const;
    return new ClientError(`The server ${url} redirects${target}.`, details);
  }
  const refusal = await errorOf(response);
  if (!isLost || status !== 409) return refusal;
  return new ClientError('The connection was lost, and then the frame had changed: by this write, or another.', {
    code: 'ambiguous_write',
    hint: 'Read the frame to see which.',
    status,
    requestId,
    isAmbiguous: true,
    cause: refusal,
  });
}
