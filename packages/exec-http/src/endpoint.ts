import { type ClientCertificate, clientCertificateOf, type Credentials, isTenant, unauthenticated } from '@svc/auth';
import { TENANT_RULE } from '@svc/auth/internal';
import { cancelledError, ServiceError, toServiceError } from '@svc/errors';
import { type Caller, requestIdFrom } from '@svc/frames';
import type { OperationName, Service } from '@svc/service';
import type { Context, Hono, HonoRequest } from 'hono';
import { type EndpointResponse, toResponse } from './endpoint-response.ts';
import type { Method } from './endpoints/endpoint-table.ts';
import { INVALID_TOKEN_CHALLENGE } from './error-response.ts';
import { createHttpCall, type HttpCall, type NodeBindings } from './http-call.ts';
import { type ExecEnv, RequestContext } from './request-context.ts';
import type { RequestGuard } from './request-guard.ts';
import { checkWriteParams, type WriteParams } from './upload/write-params.ts';

/** Returns the caller of a request. Throws `unauthenticated` if it has none; a result that is not a caller is 500. */
export type Authenticate = (request: Request) => Promise<Caller> | Caller;

/** The operation of each method of a path. */
export type MethodOperations = Readonly<Record<string, OperationName>>;

/** Options that all endpoints of an app share. */
export interface EndpointOptions {
  readonly service: Service;
  /** Finds the caller of a request. Default: the authentication of the service, if it has one. */
  readonly authenticate?: Authenticate | undefined;
  /** Who may send requests: only callers with credentials, or anyone. `optional`: credentials count if there are some. */
  readonly access?: 'closed' | 'optional' | 'open';
  /** The operation of each method, if the method decides it: its permission is checked before anything else. */
  readonly operations?: MethodOperations;
  /** Whether to compress responses for clients that accept gzip. */
  readonly compression: boolean;
  /** The checks that every request must pass. */
  readonly guard: RequestGuard;
  /** The path in events, with its parameters in braces. Default: that of the endpoint; else the request matches none. */
  readonly route?: string;
  /** Whether a GET does more than read, even without SQL. Default false. */
  readonly actsOnGet?: boolean;
  /** The parameters of each method that writes; any other is refused. Default: unknown parameters are ignored. */
  readonly writeParams?: WriteParams;
}

/** Handles one method of a path. */
export type Handler = (context: RequestContext) => Promise<EndpointResponse> | EndpointResponse;

/** The handlers of a path by method. GET also handles HEAD. */
export type Handlers = Partial<Record<Method, Handler>>;

/** The handlers of a path that has exactly these methods. */
export type HandlersOf<Methods extends Method> = Readonly<Record<Methods, Handler>>;

/**
 * Adds a path to the app; its parameters are in braces: `/frames/{handle}`. A method without a handler is 405, with the
 * allowed methods.
 */
export function addEndpoint(app: Hono<ExecEnv>, path: string, options: EndpointOptions, handlers: Handlers): void {
  const byMethod = new Map(Object.entries(handlers));
  const routed = { route: path, ...options };
  app.all(path.replaceAll(/\{(\w+)\}/g, ':$1'), (c) => answerRequest(c, routed, handlerOf(byMethod, c.req.method)));
}

/** Runs a handler: adds the request id to the response, turns an error into JSON, and reports the event. */
export async function answerRequest(
  c: Context<ExecEnv>,
  options: EndpointOptions,
  handler: Handler,
): Promise<Response> {
  const { service, guard, route, actsOnGet = false, writeParams = {} } = options;
  const call = createHttpCall(requestIdFrom(c.req.header('x-request-id')), c.env ?? {}, c.req.raw, service.startTrace);
  const context = new RequestContext(c, call, { observe: service.observe, guard, route });
  try {
    guard.check(c.req, actsOnGet);
    const authenticated = needsCaller(c, options) ? authenticateCall(call, c, options) : undefined;
    const refusal = authenticated instanceof Promise ? await authenticated : authenticated;
    if (refusal !== undefined) return await toResponse(refusal, context, false);
    if (call.caller !== undefined) {
      service.admit(call);
      context.onReported = service.startRequest(call);
    }
    const operation = options.operations?.[c.req.method];
    if (operation !== undefined) service.authorize(call, operation);
    checkWriteParams(c.req, writeParams);
    return await toResponse(await handler(context), context, options.compression);
  } catch (thrown) {
    return toResponse({ error: errorOf(thrown, call) }, context, false);
  }
}

/** A body that is cut because the client went away is not an error of the server. */
function errorOf(thrown: unknown, call: HttpCall): ServiceError {
  const isCut = !(thrown instanceof ServiceError) && call.isCancelled;
  return isCut ? cancelledError(call.signal.reason) : toServiceError(thrown);
}

/** Whether requests have callers: the host or the service authenticates them. */
export function hasCallers({ service, authenticate }: Pick<EndpointOptions, 'authenticate' | 'service'>): boolean {
  return authenticate !== undefined || service.authenticate !== undefined;
}

function needsCaller({ req, env }: Context<ExecEnv>, options: EndpointOptions): boolean {
  const { authenticate, access = 'closed' } = options;
  // A preflight of a browser never has credentials.
  if (access === 'open' || req.method === 'OPTIONS' || !hasCallers(options)) return false;
  // A host may use other credentials, such as a cookie.
  if (access === 'closed' || authenticate !== undefined) return true;
  return authorizationOf(req, env) !== undefined || certificateOf(env) !== undefined;
}

function certificateOf(env: ExecEnv['Bindings'] | undefined): ClientCertificate | undefined {
  return clientCertificateOf(env?.incoming?.socket);
}

/**
 * Sets the caller of the call. Returns the response to a request that has none but needs one. It is a promise only if there
 * is something to wait for, because that costs more than the check of a token.
 */
function authenticateCall(
  call: HttpCall,
  { req, env }: Context<ExecEnv>,
  options: EndpointOptions,
): EndpointResponse | undefined | Promise<EndpointResponse | undefined> {
  const authorization = authorizationOf(req, env);
  try {
    const connection = env?.incoming?.socket;
    const found = findCaller(call, req.raw, { authorization, certificate: certificateOf(env), connection }, options);
    if (!(found instanceof Promise)) {
      call.caller = found;
      return undefined;
    }
    return found.then(
      (caller) => {
        call.caller = caller;
        return undefined;
      },
      (thrown: unknown) => refused(thrown, call, authorization, options),
    );
  } catch (thrown) {
    return refused(thrown, call, authorization, options);
  }
}

function findCaller(
  call: HttpCall,
  request: Request,
  credentials: Credentials,
  { service, authenticate }: EndpointOptions,
): Caller | Promise<Caller> | undefined {
  if (authenticate === undefined) return service.authenticate?.(credentials, call);
  return (async () => checkCaller(await authenticate(request)))();
}

/** Returns the response to a request that was not authenticated; undefined if it may go on without a caller. */
function refused(
  thrown: unknown,
  { requestId, operation, client, trace }: HttpCall,
  authorization: string | undefined,
  { service, authenticate, access }: EndpointOptions,
): EndpointResponse | undefined {
  const error = toServiceError(thrown);
  if (error.code !== 'unauthenticated') return { error };
  // The service observes its own refusals.
  if (authenticate !== undefined) {
    const known = { ...(client && { client }), ...(trace && { trace }) };
    service.observe({ kind: 'caller_refused', requestId, operation, reason: error.message, ...known });
  }
  if (authorization !== undefined) return { error, headers: { 'www-authenticate': INVALID_TOKEN_CHALLENGE } };
  return access === 'optional' ? undefined : { error };
}

function handlerOf(handlers: ReadonlyMap<string, Handler>, method: string): Handler {
  const found = handlers.get(method === 'HEAD' ? 'GET' : method);
  if (found) return found;
  const methods = [...handlers.keys()].flatMap((key) => (key === 'GET' ? ['GET', 'HEAD'] : [key]));
  return () => methodNotAllowed(`This path does not support ${method}.`, methods);
}

/** A 405 response with the allowed methods. */
export function methodNotAllowed(message: string, methods: readonly string[]): EndpointResponse {
  return { error: new ServiceError('method_not_allowed', message), headers: { allow: methods.join(', ') } };
}

const NAME = 'authorization';

/**
 * Returns the `Authorization` header of a request. Several are joined, as in `Headers`, so that a proxy in front and this
 * server never take different ones. `Headers` of `@hono/node-server` copies all headers and scans the value, which costs
 * more than the check of a token.
 */
function authorizationOf(request: Pick<HonoRequest, 'header'>, env: NodeBindings | undefined): string | undefined {
  if (env?.incoming === undefined) return request.header(NAME);
  const { rawHeaders } = env.incoming;
  let found: string | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length !== NAME.length || name.toLowerCase() !== NAME) continue;
    const value = rawHeaders[i + 1];
    found = found === undefined ? value : `${found}, ${value}`;
  }
  return found;
}

/**
 * Returns the caller that the `authenticate` of a host returned. Throws if it is not one: without a caller, everything would
 * be allowed, and a tenant could name a folder of another.
 */
function checkCaller(caller: Partial<Caller> | null | undefined): Caller {
  // A host in JavaScript may return none.
  if (!caller) throw unauthenticated('The request has no credentials.');
  const { id, tenant, permissions } = caller;
  if (Array.isArray(permissions)) {
    const set = `permissions: new Set(${JSON.stringify(permissions)})`;
    throw new TypeError(`authenticate returned a list of permissions; it must return a Set: ${set}.`);
  }
  if (typeof id !== 'string' || typeof tenant !== 'string' || !(permissions instanceof Set)) {
    throw new TypeError('authenticate must return { id, tenant, permissions }, with a Set of permissions, or throw.');
  }
  if (!isTenant(tenant))
    throw new TypeError(`authenticate returned the tenant ${JSON.stringify(tenant)}. ${TENANT_RULE}`);
  return { id, tenant, permissions };
}
