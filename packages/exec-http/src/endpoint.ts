import { ServiceError, toServiceError } from '@svc/errors';
import { requestIdFrom } from '@svc/frames';
import type { Service } from '@svc/service';
import type { Context, Hono } from 'hono';
import { type EndpointResponse, toResponse } from './endpoint-response.ts';
import { createHttpCall } from './http-call.ts';
import type { ExecEnv, RequestContext } from './request-context.ts';
import type { RequestGuard } from './request-guard.ts';
import { checkWriteParams, type WriteParams } from './upload/write-params.ts';

/** Options that all endpoints of an app share. */
export interface EndpointOptions {
  readonly service: Service;
  /** Whether to compress responses for clients that accept gzip. */
  readonly compression: boolean;
  /** The checks that every request must pass. */
  readonly guard: RequestGuard;
  /** Whether a GET does more than read, even without SQL. Default false. */
  readonly actsOnGet?: boolean;
  /** The parameters of each method that writes; any other is refused. Default: unknown parameters are ignored. */
  readonly writeParams?: WriteParams;
}

/** Handles one method of a path. */
export type Handler = (context: RequestContext) => Promise<EndpointResponse> | EndpointResponse;

/** The handlers of a path by method. GET also handles HEAD. */
export type Handlers = Partial<Record<'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', Handler>>;

/** Adds a path to the app. A method without a handler is 405, with the allowed methods. */
export function addEndpoint(app: Hono<ExecEnv>, path: string, options: EndpointOptions, handlers: Handlers): void {
  const byMethod = new Map(Object.entries(handlers));
  app.all(path, (c) => answerRequest(c, options, handlerOf(byMethod, c.req.method)));
}

/** Runs a handler: adds the request id to the response, turns an error into JSON, and reports the event. */
export async function answerRequest(
  c: Context<ExecEnv>,
  options: EndpointOptions,
  handler: Handler,
): Promise<Response> {
  const { service, guard, actsOnGet = false, writeParams = {} } = options;
  const context = createRequestContext(c, service, guard);
  try {
    guard.check(c.req, actsOnGet);
    checkWriteParams(c.req, writeParams);
    return await toResponse(await handler(context), context, options.compression);
  } catch (thrown) {
    return toResponse({ error: toServiceError(thrown) }, context, false);
  }
}

function createRequestContext(c: Context<ExecEnv>, service: Service, guard: RequestGuard): RequestContext {
  const startMs = performance.now();
  const requestId = requestIdFrom(c.req.header('x-request-id'));
  let isReported = false;
  return {
    c,
    guard,
    call: createHttpCall(requestId, c.env ?? {}, c.req.raw),
    report: (status, error) => {
      if (isReported) return;
      isReported = true;
      const answered = {
        kind: 'request_answered',
        requestId,
        protocol: 'http',
        operation: `${c.req.method} ${c.req.path}`,
        status,
        durationMs: performance.now() - startMs,
      } as const;
      service.observe(error === undefined ? answered : { ...answered, error });
    },
  };
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
