import { baseUrl, queryString } from './address.ts';
import { connectionFailure, type Exchange, refusalOf } from './failures.ts';
import { prepareBody } from './request-body.ts';
import { readBody } from './response-body.ts';
import type { ClientResponse, Transport } from './request.ts';
import { retryDelay } from './retry-delay.ts';
import { watchSilence } from './silence.ts';
import { uniqueId } from './unique-id.ts';

/** How to reach a server. */
export interface TransportOptions {
  /** The address of the server, with the path before those of its API if it has one. */
  readonly url: string | URL;
  /** The token to send. A function is called before each request, so that it can return a new one. Default: none. */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How long the server may be silent, in milliseconds. Default: 120 000. `Infinity`: for ever. */
  readonly timeoutMs?: number;
  /** How often a request is sent again if that is safe. Default: 2. */
  readonly retries?: number;
  /** Default: that of the platform. */
  readonly fetch?: typeof fetch;
}

/** Creates the transport to a server. */
export function createTransport(options: TransportOptions): Transport {
  const { token, timeoutMs = 120_000, retries = 2, fetch: send = (input, init) => fetch(input, init) } = options;
  const url = baseUrl(options.url);

  /** Sends the request, and again if it fails and that is safe. */
  async function sendUntilAnswered(exchange: Exchange, init: RequestInit): Promise<ClientResponse> {
    const { request, silence, body, repeat } = exchange;
    const address = `${url}/${request.path}${queryString(request.params ?? {})}`;
    let isLost = false;
    for (let attempt = 0; ; attempt += 1) {
      const canRepeat = attempt < retries && repeat !== 'never' && body.isRepeatable;
      silence.expect(body.extraMs);
      const response = await send(address, { ...init, ...body.init }).catch((error: unknown) => {
        const isSafe = repeat === 'read' || repeat === 'conditional';
        if (!canRepeat || !isSafe || silence.signal.aborted) throw connectionFailure(error, exchange, 'unreachable');
      });
      silence.stop();
      if (response !== undefined) {
        if (response.ok || request.isAnyStatus === true) return received(response, exchange);
        const isRefused = response.status === 429 || (response.status === 503 && repeat !== 'write');
        if (!canRepeat || !isRefused)
          throw await refusalOf(response, received(response, exchange), { exchange, isLost });
        await response.body?.cancel();
      }
      // A server that does not accept a write for now has not taken it.
      isLost ||= response?.status !== 429;
      await pause(retryDelay(attempt, response?.headers.get('retry-after')), exchange);
    }
  }

  return {
    async send(request) {
      const { method = 'GET', requestId = uniqueId(), signal } = request;
      const bearer = typeof token === 'function' ? await token() : token;
      const repeat = request.repeat ?? (method === 'GET' || method === 'HEAD' ? 'read' : 'write');
      const silence = watchSilence(timeoutMs, signal, request.onAbort);
      try {
        signal?.throwIfAborted();
        const body = await prepareBody(request.body, silence);
        const headers = new Headers(options.headers);
        if (bearer !== undefined) headers.set('authorization', `Bearer ${bearer}`);
        headers.set('x-request-id', requestId);
        for (const [name, value] of Object.entries(request.headers ?? {})) {
          if (value !== undefined) headers.set(name, value);
        }
        return await sendUntilAnswered(
          { url, request, requestId, repeat, silence, body },
          { method, headers, signal: silence.signal, cache: 'no-store', redirect: 'manual' },
        );
      } catch (error) {
        silence.end();
        throw error;
      }
    },
  };
}

function received({ status, statusText, headers, body }: Response, exchange: Exchange): ClientResponse {
  return {
    status,
    statusText,
    headers,
    requestId: headers.get('x-request-id') ?? exchange.requestId,
    body: readBody(body, exchange.silence, (cause) => connectionFailure(cause, exchange, 'connection_lost')),
  };
}

/** Waits before the next attempt. */
async function pause(ms: number, exchange: Exchange): Promise<void> {
  const { signal } = exchange.silence;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
  if (signal.aborted) throw connectionFailure(signal.reason, exchange, 'unreachable');
}
