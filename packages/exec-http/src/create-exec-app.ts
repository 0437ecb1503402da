import type { Service, SqlTarget } from '@svc/service';
import { Hono } from 'hono';
import { createResponseCache } from './response-cache.ts';
import { addEndpoint, type Authenticate, hasCallers } from './endpoint.ts';
import type { ExecEnv } from './request-context.ts';
import { CHK_OPERATIONS, chkHandlers, execHandlers, expHandlers } from './exec-endpoint.ts';
import { fileHandlers, FILE_OPERATIONS } from './files/files-endpoint.ts';
import { FRAME_LIST_OPERATIONS, FRAME_OPERATIONS, frameHandlers, frameListHandlers } from './frames-endpoint.ts';
import { createRequestGuard, type RequestGuardOptions } from './request-guard.ts';
import { healthHandlers, LIVE_HANDLERS, readyHandlers } from './state-endpoints.ts';
import { FRAME_LIST_PARAMS, FRAME_PARAMS } from './upload/write-params.ts';

/** Options of `createExecApp`. */
export interface ExecAppOptions extends RequestGuardOptions {
  readonly service: Service;
  /**
   * Finds the caller of a request, for hosts with their own users. Throw a `ServiceError` with the code `unauthenticated`
   * to refuse a request. Default: the authenticator of the service; without one, anyone may do everything.
   */
  readonly authenticate?: Authenticate | undefined;
  /** The value of a missing `fmt`, for tools that never send it. Default: a missing `fmt` is an error. */
  readonly defaultFmt?: 'json' | undefined;
  /** The engine of SQL without `engine`. Default `tsdb`, the time-series database. */
  readonly defaultEngine?: SqlTarget | undefined;
  /** The most rows of one response; a request for more is refused. Default: no limit. */
  readonly maxRows?: number | undefined;
  /** Whether to compress responses for clients that accept gzip. Default true. */
  readonly compression?: boolean;
  /** Whether another part of the host is still starting, so that `/ready` is 503. Default: never. */
  readonly isStarting?: (() => boolean) | undefined;
  /** The size of the cache of short responses, in bytes; 0: no cache. Default 64 MiB. */
  readonly answerCacheBytes?: number;
}

const DEFAULT_ANSWER_CACHE_BYTES = 64 * 1024 ** 2;

/**
 * Creates the HTTP API as a Hono app, to serve alone or to mount under a path of another app. It answers `/ping`, `/exec`,
 * `/exp`, `/chk`, `/frames`, `/files`, `/health`, `/ready`, `/readyz` and `/livez`; every other path belongs to the host.
 */
export function createExecApp(options: ExecAppOptions): Hono<ExecEnv> {
  const { service, authenticate, defaultFmt, defaultEngine, maxRows, compression = true } = options;
  const { isStarting, answerCacheBytes = DEFAULT_ANSWER_CACHE_BYTES } = options;
  const app = new Hono<ExecEnv>();
  const endpoint = { service, authenticate, compression, guard: createRequestGuard(options) };
  const { hasTsdb, engines } = service;
  const hasParquet = service.encodeParquet !== undefined;
  const rules = { hasTsdb, engines, hasParquet, defaultFmt, defaultEngine, maxRows };
  const reads = { service, cache: createResponseCache(answerCacheBytes), compression, maxRows };
  const open = { ...endpoint, access: 'open' } as const;
  addEndpoint(app, '/ping', open, {
    GET: () => ({ body: 'ok', headers: { 'content-type': 'text/plain; charset=utf-8' } }),
  });
  addEndpoint(app, '/exec', endpoint, execHandlers(reads, rules));
  addEndpoint(app, '/exp', endpoint, expHandlers(reads, rules));
  // Every GET is forwarded to the database.
  addEndpoint(app, '/chk', { ...endpoint, actsOnGet: true, operations: CHK_OPERATIONS }, chkHandlers(service, rules));
  addEndpoint(
    app,
    '/frames',
    { ...endpoint, writeParams: FRAME_LIST_PARAMS, operations: FRAME_LIST_OPERATIONS },
    frameListHandlers(service),
  );
  addEndpoint(
    app,
    '/frames/:handle',
    { ...endpoint, writeParams: FRAME_PARAMS, operations: FRAME_OPERATIONS },
    frameHandlers(service),
  );
  addEndpoint(app, '/files/:name', { ...endpoint, operations: FILE_OPERATIONS }, fileHandlers(reads));
  const state = { service, isStarting, defaultEngine, hasCallers: hasCallers(endpoint) };
  addEndpoint(app, '/health', { ...endpoint, access: 'optional' }, healthHandlers(state));
  for (const path of ['/ready', '/readyz']) addEndpoint(app, path, open, readyHandlers(state));
  addEndpoint(app, '/livez', open, LIVE_HANDLERS);
  return app;
}
