import type { Config } from '@svc/config';
import { quoted, ServiceError, toServiceError } from '@svc/errors';
import { addEndpoints, answerRequest, createExecApp, createRequestGuard, type ExecEnv } from '@svc/exec-http';
import type { Service } from '@svc/service';
import { type Context, Hono } from 'hono';
import { allowOrigins } from './allow-origins.ts';
import { hostInfo } from './host-info.ts';
import { indexPage } from './index-page.ts';
import { requestProblem } from './request-problem.ts';
import { OWN_ENDPOINTS, SERVER_ENDPOINTS } from './server-endpoints.ts';
import { tooBusy } from './too-busy.ts';

/** The HTTP application, as a function of a request and its Node objects. */
export type HttpApp = (request: Request, env: ExecEnv['Bindings']) => Response | Promise<Response>;

/** The state of the server that the application looks at. */
export interface AppState {
  /** Whether other parts are still starting. */
  readonly isStarting: () => boolean;
  /** The number of requests in flight. */
  readonly inFlight: () => number;
}

/** Adds every path of the server to an app: the exec API, and the page at `/`. */
export function addRoutes(app: Hono<ExecEnv>, config: Config, service: Service, isStarting: () => boolean): void {
  const { http, sql } = config;
  const guarding = guardOptions(http);
  const endpoint = { service, compression: http.compression, guard: createRequestGuard(guarding) };
  addEndpoints(app, OWN_ENDPOINTS, endpoint, {
    '/': {
      GET: () => ({
        body: indexPage(SERVER_ENDPOINTS),
        headers: { 'content-type': 'text/plain; charset=utf-8' },
      }),
    },
  });
  const { default_fmt: defaultFmt, max_rows: maxRows, compression } = http;
  const answerCacheBytes = http.answer_cache_bytes;
  const defaultEngine = sql.default_engine;
  const reading = { defaultFmt, defaultEngine, maxRows, compression, answerCacheBytes };
  const host = { info: hostInfo(config), otherEndpoints: OWN_ENDPOINTS };
  app.route('/', createExecApp({ service, isStarting, ...host, ...guarding, ...reading }));
}

/** Creates the HTTP application: the routes, and JSON errors for everything else. */
export function createApp(config: Config, service: Service, { isStarting, inFlight }: AppState): HttpApp {
  const { http } = config;
  const endpoint = { service, compression: http.compression, guard: createRequestGuard(guardOptions(http)) };
  const refuse = (c: Context<ExecEnv>, error: ServiceError): Promise<Response> =>
    answerRequest(c, endpoint, () => ({ error }));

  const newApp = (): Hono<ExecEnv> => {
    const bare = new Hono<ExecEnv>();
    return http.cors_origins === undefined ? bare : bare.use(allowOrigins(http.cors_origins, service.observe));
  };

  const app = newApp();
  addRoutes(app, config, service, isStarting);
  app.notFound((c) => refuse(c, new ServiceError('route_not_found', `There is nothing at ${quoted(c.req.path)}.`)));
  app.onError((error, c) => refuse(c, toServiceError(error)));
  // Not a middleware: that would cost every request more than its routing.
  return (request, env) => {
    const problem = requestProblem(env.incoming) ?? tooBusy(env.incoming?.url, inFlight(), http.max_in_flight);
    if (problem === undefined) return app.fetch(request, env);
    return newApp()
      .notFound((c) => refuse(c, problem))
      .fetch(request, env);
  };
}

function guardOptions({ cors_origins: allowedOrigins, allowed_hosts: allowedHosts }: Config['http']) {
  return { allowedOrigins, allowedHosts };
}
