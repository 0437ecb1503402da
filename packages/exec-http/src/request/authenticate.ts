import { type ClientCertificate, clientCertificateOf, type Credentials, isTenant, unauthenticated } from '@svc/auth';
import { TENANT_RULE } from '@svc/auth/internal';
import { toServiceError } from '@svc/errors';
import type { Caller } from '@svc/frames';
import type { Service } from '@svc/service';
import type { Context, HonoRequest } from 'hono';
import { type EndpointResponse, INVALID_TOKEN_CHALLENGE } from '../response/endpoint-response.ts';
import type { ExecEnv, HttpCall, NodeBindings } from './request-context.ts';

/** Returns the caller of a request. Throws `unauthenticated` if it has none; any other result is 500. */
export type Authenticate = (request: Request) => Promise<Caller> | Caller;

/** Who authenticates requests, and who may send them. */
export interface Authentication {
  readonly service: Service;
  /** Finds the caller of a request. Default: the authentication of the service, if it has one. */
  readonly authenticate?: Authenticate | undefined;
  /** Who may send requests: only callers with credentials, or anyone. `optional`: credentials count if there are some. */
  readonly access?: 'closed' | 'optional' | 'open';
}

/** Returns true if requests have callers: the host or the service authenticates them. */
export function hasCallers({ service, authenticate }: Authentication): boolean {
  return authenticate !== undefined || service.authenticate !== undefined;
}

/**
 * Sets the caller of the call if the request needs one. Returns the response to a refused request. Returns a promise only
 * if there is something to wait for: a promise costs more than the check of a token.
 */
export function authenticateCall(
  call: HttpCall,
  { req, env }: Context<ExecEnv>,
  options: Authentication,
): EndpointResponse | undefined | Promise<EndpointResponse | undefined> {
  const { service, authenticate, access = 'closed' } = options;
  // A preflight of a browser never has credentials.
  if (access === 'open' || req.method === 'OPTIONS' || !hasCallers(options)) return undefined;
  const authorization = authorizationOf(req, env);
  // A host may use other credentials, such as a cookie.
  const isOptional = access === 'optional' && authenticate === undefined;
  if (isOptional && authorization === undefined && certificateOf(env) === undefined) return undefined;
  const credentials: Credentials = {
    authorization,
    certificate: certificateOf(env),
    connection: env?.incoming?.socket,
  };
  const accept = (caller: Caller | undefined): undefined => void (call.caller = caller);
  try {
    const found =
      authenticate === undefined ? service.authenticate?.(credentials, call) : callerOfHost(authenticate, req.raw);
    if (!(found instanceof Promise)) return accept(found);
    return found.then(accept, (thrown: unknown) => refused(thrown, call, authorization, options));
  } catch (thrown) {
    return refused(thrown, call, authorization, options);
  }
}

async function callerOfHost(authenticate: Authenticate, request: Request): Promise<Caller> {
  return checkCaller(await authenticate(request));
}

function certificateOf(env: ExecEnv['Bindings'] | undefined): ClientCertificate | undefined {
  return clientCertificateOf(env?.incoming?.socket);
}

/** Returns the response to a request without a known caller; undefined if it may go on without one. */
function refused(
  thrown: unknown,
  { requestId, operation, client, trace }: HttpCall,
  authorization: string | undefined,
  { service, authenticate, access }: Authentication,
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

const NAME = 'authorization';

/**
 * Returns the `Authorization` header of a request. Several are joined, as in `Headers`: a proxy in front and this server
 * must not take different ones. `Headers` of `@hono/node-server` copies all headers and scans the value, which costs more
 * than the check of a token.
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
 * Returns the caller from the `authenticate` of a host. Throws if it is not one: without a caller everything would be
 * allowed, and a tenant could name a folder of another.
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
