import { cancelledError, nearestName, ServiceError, toServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { requestIdFrom } from '@svc/frames';
import type { OperationName } from '@svc/service';
import type { Context, Hono } from 'hono';
import { authenticateCall, type Authentication } from '../request/authenticate.ts';
import { parseQueryString } from '../request/query-string.ts';
import { createHttpCall, type ExecEnv, type HttpCall, RequestContext } from '../request/request-context.ts';
import type { RequestGuard } from '../request/request-guard.ts';
import { type EndpointResponse, toResponse } from '../response/endpoint-response.ts';
import type { EndpointRow, EndpointTable, Method } from './endpoint-table.ts';

/** The parameters of each writing method. */
export type WriteParams = Partial<Readonly<Record<'POST' | 'PUT' | 'PATCH' | 'DELETE', readonly string[]>>>;

/** Options shared by all endpoints of an app. */
export interface EndpointOptions extends Authentication {
  /** The operation of each method, if the method decides it: its permission is checked before anything else. */
  readonly operations?: Readonly<Record<string, OperationName>>;
  /** True to compress responses for clients that accept gzip. */
  readonly compression: boolean;
  /** The checks of every request. */
  readonly guard: RequestGuard;
  /** The path in events, with its parameters in braces. Default: that of the endpoint; else the request matches none. */
  readonly route?: string;
  /** True if a GET does more than read, even without SQL. Default false. */
  readonly actsOnGet?: boolean;
  /** The parameters of each writing method; any other is refused. Default: unknown parameters are ignored. */
  readonly writeParams?: WriteParams;
}

/** Handles one method of a path. */
export type Handler = (context: RequestContext) => Promise<EndpointResponse> | EndpointResponse;

/** The handlers of a path by method. GET also handles HEAD. */
export type Handlers = Partial<Record<Method, Handler>>;

/** The handlers of a path with exactly these methods. */
export type HandlersOf<Methods extends Method> = Readonly<Record<Methods, Handler>>;

/** The handlers of every path and method of a table. */
export type EndpointHandlers<Table extends EndpointTable> = {
  readonly [Path in keyof Table]: HandlersOf<Extract<keyof Table[Path]['methods'], Method>>;
};

/** Adds every path of a table to the app, with the methods, access and parameters of its row. */
export function addEndpoints<Table extends EndpointTable>(
  app: Hono<ExecEnv>,
  table: Table,
  options: EndpointOptions,
  handlers: EndpointHandlers<Table>,
): void {
  for (const [path, row] of Object.entries(table)) {
    addEndpoint(app, path, { ...options, ...optionsOf(row) }, handlers[path as keyof Table]);
  }
}

function optionsOf({ access = 'closed', actsOnGet = false, methods }: EndpointRow): Partial<EndpointOptions> {
  const operations: Record<string, OperationName> = {};
  const writeParams: Record<string, readonly string[]> = {};
  for (const [method, { operation, params = {}, refusesOthers = false }] of Object.entries(methods)) {
    if (operation !== undefined) operations[method] = operation;
    if (operation !== undefined && method === 'GET') operations['HEAD'] = operation;
    if (refusesOthers) writeParams[method] = Object.keys(params);
  }
  return { access, actsOnGet, operations, writeParams };
}

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
  const context = new RequestContext(c, call, service.observe, guard, route);
  try {
    guard.check(c.req, actsOnGet);
    const authenticated = authenticateCall(call, c, options);
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

/** If the client leaves, its cut body is not an error of the server. */
function errorOf(thrown: unknown, call: HttpCall): ServiceError {
  const isCut = !(thrown instanceof ServiceError) && call.isCancelled;
  return isCut ? cancelledError(call.signal.reason) : toServiceError(thrown);
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

/**
 * Refuses an unknown parameter: `tll=60`, ignored, would keep a frame for good. Methods outside of the table ignore
 * unknown parameters.
 */
function checkWriteParams({ method, url }: Context['req'], table: WriteParams): void {
  const known = new Map(Object.entries(table)).get(method);
  const unknown = known && parseQueryString(url).find(([name]) => !known.includes(name))?.[0];
  if (known === undefined || unknown === undefined) return;
  const nearest = nearestName(unknown, new Map(known.map((name) => [name, name])));
  throw new ServiceError('invalid_argument', `There is no parameter ${quoted(unknown)} of ${method} here.`, {
    hint: `${nearest === undefined ? '' : `Did you mean ${nearest}? `}${method} takes ${listed(known)} here.`,
  });
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'no parameters' : new Intl.ListFormat('en-GB', { type: 'conjunction' }).format(names);
}
