import type { IncomingHttpHeaders } from 'node:http';
import type { ServiceError } from '@svc/errors';
import type { Dispatcher } from 'undici';
import { isBodiless, responseHeaders } from './response-headers.ts';
import type { UpstreamRequest } from './upstream-request.ts';
import { ForwardedRequest, type SentRequest } from './forwarded-request.ts';
import { TsdbCredentialsError } from './tsdb-credentials-error.ts';
import { BufferedResponse, type IncomingResponse, receiveResponse } from './incoming-response.ts';
import type { TsdbResponse } from './tsdb-proxy.ts';
import { brokenOff, noResponse, redirected, unusableStatus } from './upstream-failures.ts';

/** The request, and how long to wait. */
export interface SendOptions {
  readonly request: SentRequest;
  /** Whether a status of the range 300 to 399 is the response, too; a redirect of the database to itself, or 304. Default: none is. */
  readonly canPassOn?: (status: number, location: string | undefined) => boolean;
  readonly connectTimeoutMs: number;
  readonly idleTimeoutMs: number;
}

/**
 * Sends one request and never retries it: the SQL may be an INSERT. Resolves when the response headers have arrived. Uses
 * undici directly: `fetch` takes ten times the CPU time for a small response, decodes bodies and follows redirects.
 */
export function sendRequest(pool: Dispatcher, upstream: UpstreamRequest, options: SendOptions): Promise<TsdbResponse> {
  const { canPassOn = () => false, connectTimeoutMs, idleTimeoutMs } = options;
  const hasBody = options.request.method !== 'HEAD';
  return new Promise((resolve, reject) => {
    const request = new ForwardedRequest(options.request);
    let response: IncomingResponse | undefined;
    upstream.onAbort((failure) => {
      reject(failure);
      request.abort(failure);
    });
    pool.dispatch(request, {
      onRequestStart(controller) {
        request.connection = controller;
        // While it waited for a connection, its deadline passed or its client disconnected: do not send it.
        if (upstream.failure !== undefined) controller.abort(upstream.failure);
      },
      onResponseStart(_controller, status, received) {
        // Skip informational responses such as 103.
        if (status >= 100 && status < 200) return;
        const refusal = canPassOn(status, textOf(received['location'])) ? undefined : refusalOf(status);
        if (refusal !== undefined) return upstream.abort(refusal);
        upstream.stopWaiting();
        const head = { status, headers: responseHeaders(received, hasBody && !isBodiless(status)) };
        if (isRedirectUntilClose(status, received)) {
          upstream.end();
          resolve(new BufferedResponse(head, []));
          return request.abort(new Error('a redirect needs no body'));
        }
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

/**
 * Whether the body of a redirect ends with its connection, which QuestDB leaves open: the redirect of `/` has neither a length nor
 * chunks.
 */
function isRedirectUntilClose(status: number, headers: IncomingHttpHeaders): boolean {
  const isRedirect = status >= 300 && status < 400 && status !== 304;
  return isRedirect && headers['content-length'] === undefined && headers['transfer-encoding'] === undefined;
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}

/** The error of a status that fails whatever the body is; undefined for any other status. */
function refusalOf(status: number): ServiceError | undefined {
  if (status === 401) return new TsdbCredentialsError();
  if (status >= 300 && status < 400) return redirected(status);
  // HTTP allows no body with 205, so a body could not be forwarded.
  return status < 100 || status === 205 || status >= 600 ? unusableStatus(status) : undefined;
}
