import { ServiceError } from '@svc/errors';
import ky from 'ky';
import { answerBody } from './answer-body.ts';
import { answerHeaders } from './answer-headers.ts';
import { createConnectionPool } from './connection-pool.ts';
import { cancelled, type Exchange, openExchange } from './exchange.ts';
import { checkOptions, type TsdbProxyOptions } from './proxy-options.ts';
import { requestTarget } from './request-target.ts';
import { TsdbCredentialsError } from './tsdb-credentials-error.ts';
import type { TsdbProxy } from './tsdb-proxy.ts';
import { late, noAnswer, redirected, uselessStatus } from './upstream-failures.ts';

/** Makes a proxy for one time-series database. Connects with the first `forward`; throws on options it cannot use. */
export function createTsdbProxy(options: TsdbProxyOptions): TsdbProxy {
  const { base, authorization, ca, connectTimeoutMs, timeoutMs, idleTimeoutMs, maxConnections } = checkOptions(options);
  const pool = createConnectionPool(base.origin, { connectTimeoutMs, maxConnections, ca });
  const running = new Set<Exchange>();
  let isClosed = false;

  // Untyped, because Node's own types know the dispatchers of another undici version only; `fetch` takes this one too.
  const throughPool: object = { dispatcher: pool };
  const client = ky.create({
    ...throughPool,
    // Never twice: the SQL may be an INSERT.
    retry: 0,
    timeout: false,
    throwHttpErrors: false,
    redirect: 'manual',
    headers: { 'accept-encoding': 'identity', ...(authorization === undefined ? {} : { authorization }) },
  });

  return {
    async forward(call, request) {
      const target = requestTarget(base, request);
      if (isClosed) throw stopping();
      if (call.signal.aborted) throw cancelled(call.signal);

      const exchange = openExchange(call, (ended) => running.delete(ended));
      running.add(exchange);
      const timer = setTimeout(() => exchange.abort(late(timeoutMs)), timeoutMs);
      try {
        const response = await client.get(`${base.origin}${target}`, { signal: exchange.signal });
        const refusal = refusalOf(response.status);
        if (refusal !== undefined) exchange.abort(refusal);
        if (exchange.failure !== undefined) throw exchange.failure;

        const { status, headers, body } = response;
        if (body === null) exchange.end();
        return {
          status,
          headers: answerHeaders(headers, body !== null),
          body: body === null ? null : answerBody(body, exchange, idleTimeoutMs),
        };
      } catch (error) {
        exchange.end();
        throw exchange.failure ?? noAnswer(error, connectTimeoutMs);
      } finally {
        clearTimeout(timer);
      }
    },

    async close() {
      isClosed = true;
      for (const exchange of running) exchange.abort(stopping());
      await pool.destroy();
    },
  };
}

/** The failure that a status means by itself, whatever the body says. */
function refusalOf(status: number): ServiceError | undefined {
  if (status === 401) return new TsdbCredentialsError();
  if (status >= 300 && status < 400) return redirected(status);
  // 205 comes without a body by definition, so that `fetch` would leave one that is there unread for ever.
  return status === 205 || status >= 600 ? uselessStatus(status) : undefined;
}

function stopping(): ServiceError {
  return new ServiceError('unavailable', 'The server is stopping and forwards no more SQL.');
}
