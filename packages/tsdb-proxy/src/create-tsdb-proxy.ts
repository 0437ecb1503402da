import type { Duplex } from 'node:stream';
import { ServiceError } from '@svc/errors';
import { traceHeaders } from '@svc/frames';
import { isCancelled } from '@svc/frames/internal';
import type { Dispatcher } from 'undici';
import type { ConnectionPoolOptions } from './connection-pool.ts';
import { cancelled } from './upstream-request.ts';
import { checkOptions, type TsdbProxyOptions } from './proxy-options.ts';
import { requestTarget } from './request-target.ts';
import { createRunningRequests } from './running-requests.ts';
import { sendRequest } from './send-request.ts';
import type { TsdbProxy } from './tsdb-proxy.ts';
import { late } from './upstream-failures.ts';

/** Creates a proxy for one time-series database. It connects on the first `forward`. Throws if an option is invalid. */
export function createTsdbProxy(options: TsdbProxyOptions): TsdbProxy {
  const { base, authorization, ca, connectTimeoutMs, timeoutMs, idleTimeoutMs, maxConnections } = checkOptions(options);
  const open = new Set<object>();
  const onConnection = (socket: Duplex): void => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  };
  const loading = createPool(base.origin, { connectTimeoutMs, maxConnections, ca, onConnection });
  const headers = { 'accept-encoding': 'identity', ...(authorization === undefined ? {} : { authorization }) };
  const running = createRunningRequests();
  const lateness = () => late(timeoutMs);
  let isClosed = false;

  return {
    get connections() {
      return open.size;
    },

    async forward(call, request) {
      const path = requestTarget(base, request);
      const pool = await loading;
      if (isClosed) throw stopping();
      if (isCancelled(call)) throw cancelled(call.signal);

      const upstream = running.open(call);
      upstream.waitFor(timeoutMs, lateness);
      try {
        const sent = call.trace === undefined ? headers : { ...headers, ...traceHeaders(call.trace) };
        return await sendRequest(pool, upstream, { path, headers: sent, connectTimeoutMs, idleTimeoutMs });
      } finally {
        if (!upstream.isOver) upstream.watch();
      }
    },

    async close() {
      isClosed = true;
      running.abortAll(stopping());
      await (await loading).destroy();
    },
  };
}

/** Imports undici lazily, so that a server without a time-series database starts sooner. */
async function createPool(origin: string, options: ConnectionPoolOptions): Promise<Dispatcher> {
  const { createConnectionPool } = await import('./connection-pool.ts');
  return createConnectionPool(origin, options);
}

function stopping(): ServiceError {
  return new ServiceError('unavailable', 'The server is stopping and forwards no more SQL.');
}
