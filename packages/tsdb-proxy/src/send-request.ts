import type { ServiceError } from '@svc/errors';
import type { Dispatcher } from 'undici';
import { responseHeaders } from './response-headers.ts';
import type { UpstreamRequest } from './upstream-request.ts';
import { ForwardedRequest } from './forwarded-request.ts';
import { TsdbCredentialsError } from './tsdb-credentials-error.ts';
import { type IncomingResponse, receiveResponse } from './incoming-response.ts';
import type { TsdbResponse } from './tsdb-proxy.ts';
import { brokenOff, noResponse, redirected, unusableStatus } from './upstream-failures.ts';

/** What to send, and how long to wait. */
export interface SendOptions {
  /** The request target. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly connectTimeoutMs: number;
  readonly idleTimeoutMs: number;
}

/**
 * Sends one GET, never again: the SQL may be an INSERT. Resolves with the head of the answer. On undici itself and not on
 * `fetch`, which takes ten times the processor time for a small answer, and decodes and redirects unasked.
 */
export function sendRequest(pool: Dispatcher, upstream: UpstreamRequest, options: SendOptions): Promise<TsdbResponse> {
  const { path, headers, connectTimeoutMs, idleTimeoutMs } = options;
  return new Promise((resolve, reject) => {
    const request = new ForwardedRequest(path, headers);
    let response: IncomingResponse | undefined;
    upstream.onAbort((failure) => {
      reject(failure);
      request.abort(failure);
    });
    pool.dispatch(request, {
      onRequestStart(controller) {
        request.connection = controller;
        // It waited for a connection for too long, or for a client that has left: it is not sent.
        if (upstream.failure !== undefined) controller.abort(upstream.failure);
      },
      onResponseStart(_controller, status, received) {
        // Informational answers (103) are not the answer.
        if (status >= 100 && status < 200) return;
        const refusal = refusalOf(status);
        if (refusal !== undefined) return upstream.abort(refusal);
        upstream.stopWaiting();
        const head = { status, headers: responseHeaders(received, status !== 204) };
        response = receiveResponse(head, request, { upstream, idleTimeoutMs, resolve });
      },
      onResponseData(_controller, bytes) {
        if (!upstream.isOver) response?.push(bytes);
      },
      onResponseEnd() {
        const failure = request.valve?.failure() ?? null;
        request.valve?.end();
        if (failure !== null) upstream.abort(brokenOff(failure));
        else if (!upstream.isOver) response?.close();
      },
      onResponseError(_controller, error) {
        response?.begin();
        request.valve?.end();
        upstream.abort(response === undefined ? noResponse(error, connectTimeoutMs) : brokenOff(error));
      },
    });
  });
}

/** The failure that a status means by itself, whatever the body says. */
function refusalOf(status: number): ServiceError | undefined {
  if (status === 401) return new TsdbCredentialsError();
  if (status >= 300 && status < 400) return redirected(status);
  // 205 comes without a body by definition, so that one that is there could not be handed on.
  return status < 100 || status === 205 || status >= 600 ? unusableStatus(status) : undefined;
}
