import { ClientError, cutOff, errorFromText } from './client-error.ts';
import { readBody, readText } from './response-body.ts';
import type { ClientResponse, SingleRequest } from './request.ts';
import { uniqueId } from './unique-id.ts';

/** The server of a request. */
export interface Target {
  /** Its address, without a slash at the end. */
  readonly url: string;
  readonly token?: string | undefined;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly fetch: typeof fetch;
}

/** Returns the address of a path with its parameters. */
export function addressOf(url: string, { path, params = {} }: Pick<SingleRequest, 'path' | 'params'>): string {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const one of [value].flat()) if (one !== undefined) found.append(name, String(one));
  }
  return `${url}/${path}${found.size > 0 ? `?${found}` : ''}`;
}

/** Sends a request once, and returns its response of any status. Throws an `unreachable` if there is none. */
export async function sendOnce(target: Target, request: SingleRequest, init?: RequestInit): Promise<ClientResponse> {
  const { method = 'GET', requestId = uniqueId(), signal, body } = request;
  const headers = new Headers(target.headers);
  if (target.token !== undefined) headers.set('authorization', `Bearer ${target.token}`);
  headers.set('x-request-id', requestId);
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    if (value !== undefined) headers.set(name, value);
  }
  const failed = (error: ClientError): unknown => (signal?.aborted ? signal.reason : error);
  const response = await target
    .fetch(addressOf(target.url, request), {
      method,
      headers,
      cache: 'no-store',
      redirect: 'manual',
      ...(signal && { signal }),
      // The types of DOM exclude shared memory, which `fetch` refuses by itself.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      ...(body !== undefined && { body: body as BodyInit }),
      ...init,
    })
    .catch((cause: unknown) => {
      const hint = 'Check that it runs, then try again.';
      throw failed(new ClientError('The server does not answer.', { code: 'unreachable', cause, hint }));
    });
  const id = response.headers.get('x-request-id') ?? requestId;
  return {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers,
    requestId: id,
    body: readBody(response.body, signal, (cause) => failed(cutOff({ requestId: id, cause }))),
  };
}

/** Whether the response to a request is returned; else it is thrown as an error. */
export function isAccepted({ status }: ClientResponse, { accept = [] }: Pick<SingleRequest, 'accept'>): boolean {
  return (status >= 200 && status < 300) || accept === 'any' || accept.includes(status);
}

const MAX_ERROR_BYTES = 1024 * 1024;

/** Reads the error of a response that is not accepted. */
export async function errorOf({ status, headers, requestId, body }: ClientResponse): Promise<ClientError> {
  const text = await readText(body, MAX_ERROR_BYTES);
  return errorFromText(status, text, { requestId, retryAfterMs: retryAfterMs(headers) });
}

/** Returns how long the server asks to wait before the next attempt; a date, which no server of ours sends, is ignored. */
export function retryAfterMs(headers: Headers): number | undefined {
  const ms = Number(headers.get('retry-after') ?? Number.NaN) * 1000;
  return ms >= 0 ? ms : undefined;
}
