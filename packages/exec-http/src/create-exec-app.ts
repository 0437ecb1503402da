import type { Service, SqlTarget } from '@svc/service';
import { Hono } from 'hono';
import { createResponseCache, type ResponseCache } from './cache/response-cache.ts';
import { addEndpoints, answerRequest } from './endpoints/add-endpoints.ts';
import type { EndpointTable } from './endpoints/endpoint-table.ts';
import { API_ENDPOINTS } from './endpoints/endpoints.ts';
import { execHandlers, expHandlers, forwardHandler } from './endpoints/exec-handlers.ts';
import { fileHandlers } from './endpoints/file-handlers.ts';
import { frameHandlers, frameListHandlers } from './endpoints/frame-handlers.ts';
import {
  chkHandlers,
  importHandlers,
  lineHandlers,
  settingsHandlers,
  WARNINGS_HANDLERS,
} from './endpoints/questdb-handlers.ts';
import {
  healthHandlers,
  type HostInfo,
  infoHandlers,
  LIVE_HANDLERS,
  PING_HANDLERS,
  queryHandlers,
  queryListHandlers,
  readyHandlers,
} from './endpoints/server-handlers.ts';
import { LINE_ENDPOINTS, QUESTDB_ENDPOINTS } from './endpoints/write-endpoints.ts';
import { docsHandlers, openApiHandlers } from './openapi/openapi-handlers.ts';
import { type Authenticate, hasCallers } from './request/authenticate.ts';
import type { ExecEnv } from './request/request-context.ts';
import { createRequestGuard, type RequestGuardOptions } from './request/request-guard.ts';

/** Options of `createExecApp`. */
export interface ExecAppOptions extends RequestGuardOptions {
  readonly service: Service;
  /**
   * Finds the caller of a request, for hosts with their own users. Throw a `ServiceError` with the code `unauthenticated`
   * to refuse a request. Default: the authenticator of the service; without one, anyone may do everything.
   */
  readonly authenticate?: Authenticate | undefined;
  /** The value of a missing `fmt`. Default: a missing `fmt` is an error. */
  readonly defaultFmt?: 'json' | undefined;
  /** The engine of SQL without `engine`. Default `tsdb`, the time-series database. */
  readonly defaultEngine?: SqlTarget | undefined;
  /** The most rows of one response; a request for more is refused. Default: no limit. */
  readonly maxRows?: number | undefined;
  /**
   * True if the host forwards every other path to the time-series database, with `forwardHandler`. The paths of line
   * protocol are then those of the database, too. Default false.
   */
  readonly forwardsAll?: boolean;
  /** True to compress responses for clients that accept gzip. Default true. */
  readonly compression?: boolean;
  /** Returns true while another part of the host starts: `/ready` is then 503. Default: never. */
  readonly isStarting?: (() => boolean) | undefined;
  /** Other paths of the host, for `/openapi.json`. Default: none. */
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
  const {
    service,
    authenticate,
    defaultFmt,
    defaultEngine,
    maxRows,
    compression = true,
    forwardsAll = false,
  } = options;
  const { isStarting, otherEndpoints, info, answerCacheBytes = DEFAULT_ANSWER_CACHE_BYTES } = options;
  const app = new Hono<ExecEnv>();
  const endpoint = { service, authenticate, compression, guard: createRequestGuard(options) };
  const { hasTsdb, engines } = service;
  const hasParquet = service.encodeParquet !== undefined;
  const rules = { hasTsdb, engines, hasParquet, defaultFmt, defaultEngine, maxRows };
  const reads = { service, cache: options.answerCache ?? createResponseCache(answerCacheBytes), compression, maxRows };
  const state = { service, defaultEngine, maxRows, isStarting, host: info, hasCallers: hasCallers(endpoint) };
  const docs = docsHandlers();
  // Where SQL is for the database, imports are for it, too.
  const takesImports = defaultEngine === 'local' || !hasTsdb;
  const table = {
    ...API_ENDPOINTS,
    ...(!forwardsAll && LINE_ENDPOINTS),
    ...(takesImports && QUESTDB_ENDPOINTS),
    ...otherEndpoints,
  };
  const described = {
    defaultTarget: defaultEngine ?? 'tsdb',
    hasCallers: state.hasCallers,
    hasTokens: state.hasCallers && authenticate === undefined,
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
    '/info': infoHandlers(state),
    '/ping': PING_HANDLERS,
    '/health': healthHandlers(state),
    '/ready': readyHandlers(state),
    '/readyz': readyHandlers(state),
    '/livez': LIVE_HANDLERS,
    '/docs': docs.page,
    '/docs/{file}': docs.file,
    '/openapi.json': openApiHandlers(service, table, described),
  });
  const settings = settingsHandlers(service, defaultEngine, state.hasCallers);
  if (!forwardsAll) {
    const lines = lineHandlers(service);
    addEndpoints(app, LINE_ENDPOINTS, endpoint, { '/write': lines, '/api/v2/write': lines, '/settings': settings });
  } else if (state.hasCallers) {
    // Without credentials, the same as without forwarding. Other methods are those of the database.
    const forward = forwardHandler(service);
    app.get('/settings', (c) =>
      answerRequest(c, { ...endpoint, access: 'optional' }, (context) =>
        context.call.caller === undefined ? settings.GET(context) : forward(context),
      ),
    );
  }
  if (takesImports) {
    const handlers = { '/imp': importHandlers(service), '/warnings': WARNINGS_HANDLERS };
    addEndpoints(app, QUESTDB_ENDPOINTS, endpoint, handlers);
  }
  return app;
}
