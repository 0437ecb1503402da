import type { Config } from '@svc/config';
import { defaultHosts } from '@svc/config/internal';
import { type ConsoleFiles, type ConsoleResponse, createConsoleFiles, wantsPage } from '@svc/console';
import { ServiceError, toServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import {
  addEndpoints,
  answerRequest,
  type AuthenticationKind,
  createExecApp,
  createRequestGuard,
  type EndpointResponse,
  ENDPOINTS,
  type EndpointTable,
  type ExecEnv,
  type Handler,
  type HandlersOf,
  type HostInfo,
  type RequestContext,
  type ResponseCache,
} from '@svc/exec-http';
import { forwardHandler } from '@svc/exec-http/internal';
import { requestIdFrom } from '@svc/frames';
import type { Observer, Service } from '@svc/service';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import { reportUnrouted } from './client-errors.ts';
import { CONSOLE_ENDPOINTS, METRICS_ENDPOINTS, OWN_ENDPOINTS, SERVER_ENDPOINTS } from './server-endpoints.ts';

/** The HTTP application, as a function of a request and its Node objects. */
export type HttpApp = (request: Request, env: ExecEnv['Bindings']) => Response | Promise<Response>;

/** The state of the server for the application. */
export interface AppState {
  /** True while other parts are still starting. */
  readonly isStarting: () => boolean;
  /** The number of requests in flight. */
  readonly inFlight: () => number;
  readonly answerCache: ResponseCache;
  /** Answers `/metrics`; undefined if it has another listener. */
  readonly metrics: Handler | undefined;
}

/** Adds every path of the server to an app: the exec API, and the page at `/` with its files. */
export function addRoutes(
  app: Hono<ExecEnv>,
  config: Config,
  service: Service,
  { isStarting, answerCache, metrics }: Omit<AppState, 'inFlight'>,
): void {
  const { http, sql } = config;
  const guarding = guardOptions(http);
  const endpoint = { service, compression: http.compression, guard: createRequestGuard(guarding) };
  const files = http.console ? createConsoleFiles() : undefined;
  const own = { ...(metrics && METRICS_ENDPOINTS), ...(files && CONSOLE_ENDPOINTS), ...OWN_ENDPOINTS };
  if (metrics !== undefined) addEndpoints(app, METRICS_ENDPOINTS, endpoint, { '/metrics': { GET: metrics } });
  const { compression } = http;
  const forwardsAll = isForwardingAll(config, service);
  // Without the console, the page of the database is at its place.
  if (!forwardsAll || http.console) {
    addEndpoints(app, OWN_ENDPOINTS, endpoint, { '/': indexHandlers({ ...ENDPOINTS, ...own }, files, compression) });
  }
  if (files !== undefined) {
    const handlers = consoleHandlers(files, compression);
    addEndpoints(app, CONSOLE_ENDPOINTS, endpoint, { '/console/assets/{file}': handlers });
  }
  const { default_fmt: defaultFmt, max_rows: maxRows } = http;
  const defaultEngine = sql.default_engine;
  const reading = { defaultFmt, defaultEngine, maxRows, compression, answerCache };
  const host = { info: hostInfo(config), otherEndpoints: own };
  app.route('/', createExecApp({ service, isStarting, forwardsAll, ...host, ...guarding, ...reading }));
}

/** True if all other paths are those of the database. */
function isForwardingAll({ tsdb }: Config, { hasTsdb }: Service): boolean {
  return hasTsdb && tsdb.forward === 'all';
}

/** Creates the HTTP application: the routes, and JSON errors for everything else. */
export function createApp(config: Config, service: Service, state: AppState): HttpApp {
  const other = isForwardingAll(config, service) ? forwardHandler(service) : undefined;
  return withErrors(config, service, state, (app) => addRoutes(app, config, service, state), other);
}

/** Creates an application with `/metrics` alone. */
export function createMetricsApp(
  config: Config,
  service: Service,
  state: Pick<AppState, 'inFlight'> & { readonly metrics: Handler },
): HttpApp {
  const http = { ...config.http, allowed_hosts: metricsHosts(config), cors_origins: undefined };
  const endpoint = { service, compression: http.compression, guard: createRequestGuard(guardOptions(http)) };
  return withErrors({ ...config, http }, service, state, (app) =>
    addEndpoints(app, METRICS_ENDPOINTS, endpoint, { '/metrics': { GET: state.metrics } }),
  );
}

/** With a loopback listener there is a check, and `http.allowed_hosts` adds names. */
function metricsHosts({ http, metrics }: Config): readonly string[] | undefined {
  const own = metrics.bind_address && defaultHosts(metrics.bind_address.host);
  return own && [...own, ...(http.allowed_hosts ?? [])];
}

/** Creates an application of some routes, with JSON errors for everything else, unless `other` handles it. */
function withErrors(
  { http }: Pick<Config, 'http'>,
  service: Service,
  { inFlight }: Pick<AppState, 'inFlight'>,
  addTo: (app: Hono<ExecEnv>) => void,
  other?: Handler,
): HttpApp {
  const endpoint = { service, compression: http.compression, guard: createRequestGuard(guardOptions(http)) };
  const refuse = (c: Context<ExecEnv>, error: ServiceError): Promise<Response> =>
    answerRequest(c, endpoint, () => ({ error }));

  const newApp = (): Hono<ExecEnv> => {
    const bare = new Hono<ExecEnv>();
    return http.cors_origins === undefined ? bare : bare.use(allowOrigins(http.cors_origins, service.observe));
  };

  const app = newApp();
  addTo(app);
  const missing: Handler = ({ c }) => ({
    error: new ServiceError('route_not_found', `There is nothing at ${quoted(c.req.path)}.`),
  });
  app.notFound((c) => answerRequest(c, endpoint, other ?? missing));
  app.onError((error, c) => refuse(c, toServiceError(error)));
  // Not a middleware: it would cost every request more than its routing.
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

/** Allows pages of these origins to read responses. Handles only preflights; a plain OPTIONS request passes through. */
function allowOrigins(origins: readonly string[], observe: Observer): MiddlewareHandler<ExecEnv> {
  const allow = cors({
    origin: origins.includes('*') ? '*' : [...origins],
    allowMethods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposeHeaders: ['accept-ranges', 'content-disposition', 'content-range', 'etag', 'x-request-id', 'x-total-count'],
  });
  return async (c, next) => {
    if (c.req.method === 'OPTIONS' && c.req.header('access-control-request-method') === undefined) return next();
    const preflight = await allow(c, next);
    if (!preflight) return undefined;
    const requestId = requestIdFrom(c.req.header('x-request-id'));
    preflight.headers.set('x-request-id', requestId);
    const { incoming: request } = c.env ?? {};
    reportUnrouted(observe, { requestId, status: preflight.status, bytes: 0, request, socket: request?.socket });
    return preflight;
  };
}

/** Returns what `/info` reports of a configuration. */
function hostInfo({ auth, http, tls, sql }: Pick<Config, 'auth' | 'http' | 'sql' | 'tls'>): HostInfo {
  const hasCallersFile = auth.callers_file !== undefined;
  const kinds: readonly (AuthenticationKind | false)[] = [
    hasCallersFile && 'token',
    auth.jwks !== undefined && 'jwt',
    hasCallersFile && tls.client_ca_file !== undefined && 'certificate',
  ];
  return {
    authentication: auth.mode === 'none' ? [] : kinds.filter((kind) => kind !== false),
    ...(http.console && { console: { keepsHistory: http.console_history } }),
    limits: {
      sqlTimeoutMs: sql.timeout_ms,
      sqlMemoryBytes: Math.round(sql.memory_gb * 1e9),
      sqlMaxConcurrent: sql.max_concurrent,
      sqlMaxQueued: sql.max_queued,
    },
  };
}

/** Finds a problem that Node accepts. It would make the request look like another one. */
function requestProblem(incoming: ExecEnv['Bindings']['incoming']): ServiceError | undefined {
  if (incoming === undefined) return undefined;
  if (incoming.headers.host === undefined && incoming.httpVersion === '1.1') {
    return new ServiceError('invalid_argument', 'The request has no Host header.', { hint: 'Send a Host header.' });
  }
  const path = (incoming.url ?? '').split('?', 1)[0] ?? '';
  // URL parsers remove dot segments before routing: /frames/.. would mean /.
  if (/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path)) {
    return new ServiceError('invalid_argument', `The path ${quoted(path)} has a "." or ".." segment.`, {
      hint: 'Write the path without such segments.',
    });
  }
  return undefined;
}

/** Paths to answer however busy the server is. */
const PROBES: ReadonlySet<string> = new Set(
  Object.entries(SERVER_ENDPOINTS).flatMap(([path, { isProbe = false }]) => (isProbe ? [path] : [])),
);

/** Returns the error of one request too many. `inFlight` counts it. */
function tooBusy(url: string | undefined, inFlight: number, maxInFlight: number): ServiceError | undefined {
  if (inFlight <= maxInFlight || PROBES.has(url?.split('?', 1)[0] ?? '')) return undefined;
  return new ServiceError(
    'too_many_requests',
    `The server already has ${maxInFlight} requests in flight (http.max_in_flight).`,
    { hint: 'Retry after the number of seconds in Retry-After, or raise http.max_in_flight.', retryAfterSeconds: 1 },
  );
}

/**
 * Handles `/`: the console for browsers, else the list of paths.
 * @param files undefined: there is no console
 */
function indexHandlers(table: EndpointTable, files: ConsoleFiles | undefined, compression: boolean): HandlersOf<'GET'> {
  return {
    GET: async (context) => {
      if (files !== undefined && wantsPage(context.c.req.header('accept'))) {
        return toReply(await files.page(requestOf(context, compression)));
      }
      return {
        body: indexPage(table),
        headers: {
          'content-type': 'text/plain; charset=utf-8',
          ...(files && { vary: 'accept, accept-encoding' }),
        },
      };
    },
  };
}

/** Handles the files of the console. */
function consoleHandlers(files: ConsoleFiles, compression: boolean): HandlersOf<'GET'> {
  return {
    GET: async (context) => {
      const name = context.c.req.param('file') ?? '';
      const file = await files.asset(name, requestOf(context, compression));
      if (file !== undefined) return toReply(file);
      throw new ServiceError('route_not_found', `There is no file ${quoted(name)} of the console.`, {
        hint: 'The console may be of another version: load its page again.',
      });
    },
  };
}

function requestOf({ c }: RequestContext, compression: boolean): Parameters<ConsoleFiles['page']>[0] {
  const acceptEncoding = compression ? c.req.header('accept-encoding') : undefined;
  return { acceptEncoding, ifNoneMatch: c.req.header('if-none-match') };
}

function toReply({ status, headers, body }: ConsoleResponse): EndpointResponse {
  return { status, headers, isPacked: true, ...(body && { body }) };
}

/** Returns the text of the page at `/`: one line for each use of each path. */
function indexPage(table: EndpointTable): string {
  const lines = Object.entries(table).flatMap(([path, { methods }]) =>
    Object.entries(methods).flatMap(([method, { uses }]) =>
      uses.map(({ request = path, gives }) => ({ request: `${method.padEnd(6)} ${request}`, gives })),
    ),
  );
  const width = Math.max(...lines.map(({ request }) => request.length));
  const list = lines.map(({ request, gives }) => `${request.padEnd(width)}  ${gives.replaceAll('`', '')}`);
  return `A data-frame server.\n\n${list.join('\n')}\n`;
}
