/**
 * Forwards SQL to an external time-series database over HTTP: streamed byte for byte, with backpressure and deadlines.
 *
 * ```ts
 * import { createTsdbProxy } from '@svc/tsdb-proxy';
 *
 * const tsdb = createTsdbProxy({ url: 'http://127.0.0.1:9000' });
 * const call = { tenant: 'default', requestId: 'r-1', signal: AbortSignal.timeout(5_000) };
 * const response = await tsdb.forward(call, { path: '/exec', params: [['query', 'select 1'], ['fmt', 'json']] });
 * console.log(response.status, await new Response(response.body).text());
 * await tsdb.close();
 * ```
 */
export { createTsdbProxy } from './create-tsdb-proxy.ts';
export type { TsdbProxyOptions } from './proxy-options.ts';
export { createStreamedResponse, type ResponseHead } from './response.ts';
export { TsdbCredentialsError } from './upstream-failures.ts';
export type { TsdbPassRequest, TsdbResponse, TsdbProxy, TsdbRequest } from './tsdb-proxy.ts';
