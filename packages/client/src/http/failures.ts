import { ClientError, errorFromText } from './client-error.ts';
import type { SentBody } from './request-body.ts';
import { readText } from './response-body.ts';
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

const MAX_ERROR_BYTES = 1024 * 1024;

/** Failures of Node before any byte of a request was sent. */
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/** Makes the error of a connection that failed, before or after the head of the response. */
export function connectionFailure(
  cause: unknown,
  { url, request, requestId, repeat, silence, body }: Exchange,
  code: 'unreachable' | 'connection_lost',
): unknown {
  if (request.signal?.aborted) return request.signal.reason;
  const sourceError = body.sourceError();
  if (sourceError !== undefined) return sourceError;
  const reason = codeOf(cause);
  const details = { requestId, cause, isAmbiguous: repeat !== 'read' && !NOT_SENT.has(reason) };
  if (silence.isTooLong) {
    const hint = 'Raise timeoutMs if the server needs longer.';
    return new ClientError(`The server ${url} does not answer.`, { ...details, code: 'timeout', hint });
  }
  if (code === 'connection_lost') return cutOff(details);
  const hint = 'Check the URL and whether the server runs; in a browser, also http.cors_origins.';
  return new ClientError(`The server ${url} cannot be reached: ${reason}.`, { ...details, code, hint });
}

/** Makes the error of a response that ended early. */
export function cutOff(details: { readonly requestId: string; readonly cause?: unknown }): ClientError {
  return new ClientError('The connection broke before the response was complete.', {
    ...details,
    code: 'connection_lost',
    hint: 'Send the request again; the log of the server may say why it stopped.',
  });
}

function codeOf(error: unknown): string {
  const cause: unknown = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (typeof cause !== 'object' || cause === null) return String(cause);
  if ('code' in cause && typeof cause.code === 'string') return cause.code;
  return cause instanceof Error ? cause.message : 'unknown';
}

/** Makes the error of a response that is not 2xx. */
export async function refusalOf(
  response: Response,
  { status, body, requestId }: ClientResponse,
  { exchange, isLost }: { readonly exchange: Exchange; readonly isLost: boolean },
): Promise<ClientError> {
  const location = response.headers.get('location');
  if (location !== null || response.type === 'opaqueredirect') {
    await body.return();
    const target = location === null ? '' : ` to ${JSON.stringify(location)}`;
    const hint = 'Use that address as the URL.';
    const details = { code: 'invalid_response', status, requestId, hint } as const;
    return new ClientError(`The server ${exchange.url} redirects${target}.`, details);
  }
  const refusal = errorFromText(status, await readText(body, MAX_ERROR_BYTES), requestId);
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
