import type { Service, SqlTarget } from '@svc/service';
import { Hono } from 'hono';
import { createResponseCache, type ResponseCache } from './cache/response-cache.ts';
import { addEndpoints } from './endpoints/add-endpoints.ts';
import type { EndpointTable } from './endpoints/endpoint-table.ts';
import { API_ENDPOINTS } from './endpoints/endpoints.ts';
import { LINE_ENDPOINTS } from './endpoints/line-endpoints.ts';
import { QUESTDB_ENDPOINTS } from './endpoints/questdb-endpoints.ts';
import { answerRequest, type Authenticate, hasCallers } from './endpoint.ts';
import type { ExecEnv } from './request-context.ts';
import { execHandlers, expHandlers } from './exec-endpoint.ts';
import { fileHandlers } from './files/files-endpoint.ts';
import { forwardHandler } from './forward-all/forward-handler.ts';
import { frameHandlers, frameListHandlers } from './frames-endpoint.ts';
import { docsHandlers } from './docs-page/docs-endpoint.ts';
import { lineHandlers } from './lines/lines-endpoint.ts';
import { openApiHandlers } from './openapi/openapi-endpoint.ts';
import { type HostInfo, infoHandlers } from './queries/info-endpoint.ts';
import { queryHandlers, queryListHandlers } from './queries/queries-endpoint.ts';
import { chkHandlers } from './questdb/chk-endpoint.ts';
import { importHandlers } from './questdb/import-endpoint.ts';
import { settingsHandlers, WARNINGS_HANDLERS } from './questdb/settings-endpoint.ts';
import { createRequestGuard, type RequestGuardOptions } from './request-guard.ts';
import { healthHandlers, LIVE_HANDLERS, PING_HANDLERS, readyHandlers } from './state-endpoints.ts';

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
  /**
   * Whether the host forwards every other path to the time-series database, with `forwardHandler`. The paths of line protocol are
   * then those of the database, too. Default false.
   */
  readonly forwardsAll?: boolean;
  /** Whether to compress responses for clients that accept gzip. Default true. */
  readonly compression?: boolean;
  /** Whether another part of the host is still starting, so that `/ready` is 503. Default: never. */
  readonly isStarting?: (() => boolean) | undefined;
  /** Other paths of the host, which `/openapi.json` describes, too. Default: none. */
  readonly otherEndpoints?: EndpointTable | undefined;
  /** What `/info` reports of the host. Default: nothing. */
  readonly info?: HostInfo | undefined;
  /** The size of the cache of short responses, in bytes; 0: no cache. Default 64 MiB. */
  readonly answerCacheBytes?: number;
  /** The cache of short responses, for hosts that count its hits. Default: one of `answerCacheBytes`. */
  readonly answerCache?: ResponseCache;
}

const DEFAULT_ANSWER_CACHE_BYTES = 64 * 1024 ** 2;

/**
 * Creates the HTTP API as a Hono app, to serve alone or to mount under a path of another app. It answers the paths of
 * `ENDPOINTS`; every other path belongs to the host.
 */
export function createExecApp(options: ExecAppOptions): Hono<ExecEnv> {
  const { service, authenticate, defaultFmt, defaultEngine, maxRows, compression = true } = options;
  const {
    isStarting,
    forwardsAll = false,
    otherEndpoints = {},
    answerCacheBytes = DEFAULT_ANSWER_CACHE_BYTES,
  } = options;
  const app = new Hono<ExecEnv>();
  const endpoint = { service, authenticate, compression, guard: createRequestGuard(options) };
  const { hasTsdb, engines } = service;
  const hasParquet = service.encodeParquet !== undefined;
  const rules = { hasTsdb, engines, hasParquet, defaultFmt, defaultEngine, maxRows };
  const reads = { service, cache: options.answerCache ?? createResponseCache(answerCacheBytes), compression, maxRows };
  const about = { service, host: options.info, defaultEngine, maxRows, hasCallers: hasCallers(endpoint) };
  const docs = docsHandlers();
  const state = { service, isStarting, defaultEngine, hasCallers: hasCallers(endpoint) };
  // Where SQL is for the database, imports are for it, too.
  const takesImports = defaultEngine === 'local' || !hasTsdb;
  const table = {
    ...API_ENDPOINTS,
    ...(!forwardsAll && LINE_ENDPOINTS),
    ...(takesImports && QUESTDB_ENDPOINTS),
  };
  addEndpoints(app, API_ENDPOINTS, endpoint, {
    '/exec': execHandlers(reads, rules),
    '/exp': expHandlers(reads, rules),
    '/chk': chkHandlers(service, rules),
    '/files/{name}': fileHandlers(reads),
    '/frames': frameListHandlers(service),
    '/frames/{handle}': frameHandlers(service),
    '/queries': queryListHandlers(service),
    '/queries/{id}': queryHandlers(service),
    '/info': infoHandlers(about),
    '/ping': PING_HANDLERS,
    '/health': healthHandlers(state),
    '/ready': readyHandlers(state),
    '/readyz': readyHandlers(state),
    '/livez': LIVE_HANDLERS,
    '/docs': docs.page,
    '/docs/{file}': docs.file,
    '/openapi.json': openApiHandlers({
      service,
      table: { ...table, ...otherEndpoints },
      hasCallers: state.hasCallers,
      isHostAuthenticated: authenticate !== undefined,
    }),
  });
  const settings = settingsHandlers(service, defaultEngine, state.hasCallers);
  if (forwardsAll && state.hasCallers) {
    // Without credentials, the same as without forwarding. Other methods are those of the database.
    const forward = forwardHandler(service);
    app.get('/settings', (c) =>
      answerRequest(c, { ...endpoint, access: 'optional' }, (context) =>
        context.call.caller === undefined ? settings.GET(context) : forward(context),
      ),
    );
  }
  if (!forwardsAll) {
    const lines = lineHandlers(service);
    const handlers = { '/write': lines, '/api/v2/write': lines, '/settings': settings };
    addEndpoints(app, LINE_ENDPOINTS, endpoint, handlers);
  }
  if (takesImports) {
    const handlers = { '/imp': importHandlers(service), '/warnings': WARNINGS_HANDLERS };
    addEndpoints(app, QUESTDB_ENDPOINTS, endpoint, handlers);
  }
  return app;
}
