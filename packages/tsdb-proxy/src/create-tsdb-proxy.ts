import { ServiceError } from '@svc/errors';
import { isCancelled } from '@svc/frames';
import type { Dispatcher } from 'undici';
import type { ConnectionPoolOptions } from './connection-pool.ts';
import { cancelled, type Exchange, openExchange } from './exchange.ts';
import { checkOptions, type TsdbProxyOptions } from './proxy-options.ts';
import { requestTarget } from './request-target.ts';
import { sendRequest } from './send-request.ts';
import type { TsdbProxy } from './tsdb-proxy.ts';
import { late } from './upstream-failures.ts';

/** Most answers are there by then, and whether their clients leave does not matter any more. */
const WATCHED_AFTER_MS = 20;

/** Makes a proxy for one time-series database. Connects with the first `forward`; throws on options it cannot use. */
export function createTsdbProxy(options: TsdbProxyOptions): TsdbProxy {
  const { base, authorization, ca, connectTimeoutMs, timeoutMs, idleTimeoutMs, maxConnections } = checkOptions(options);
  const loading = createPool(base.origin, { connectTimeoutMs, maxConnections, ca });
  const headers = { 'accept-encoding': 'identity', ...(authorization === undefined ? {} : { authorization }) };
  const running = new Set<Exchange>();
  let isClosed = false;

  return {
    async forward(call, request) {
      const path = requestTarget(base, request);
      const pool = await loading;
      if (isClosed) throw stopping();
      if (isCancelled(call)) throw cancelled(call.signal);

      const exchange = openExchange(call, (ended) => running.delete(ended));
      running.add(exchange);
      const watch = setTimeout(() => exchange.watch(), WATCHED_AFTER_MS);
      const deadline = setTimeout(() => exchange.abort(late(timeoutMs)), timeoutMs);
      try {
        return await sendRequest(pool, exchange, { path, headers, connectTimeoutMs, idleTimeoutMs });
      } finally {
        clearTimeout(watch);
        clearTimeout(deadline);
        if (!exchange.isOver) exchange.watch();
      }
    },

    async close() {
      isClosed = true;
      for (const exchange of running) exchange.abort(stopping());
      await (await loading).destroy();
    },
  };
}

/** Loads the client meanwhile: whoever has no database to forward to does without it, and starts sooner. */
async function createPool(origin: string, options: ConnectionPoolOptions): Promise<Dispatcher> {
  const { createConnectionPool } = await import('./connection-pool.ts');
  return createConnectionPool(origin, options);
}

function stopping(): ServiceError {
  return new ServiceError('unavailable', 'The server is stopping and forwards no more SQL.');
}
