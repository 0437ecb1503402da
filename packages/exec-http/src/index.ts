/**
 * The HTTP query API as a Hono app.
 *
 * ```ts
 * import { serve } from '@hono/node-server';
 * import { createExecApp } from '@svc/exec-http';
 * import { createMemoryStore } from '@svc/frames';
 * import { createService } from '@svc/service';
 * import { Hono } from 'hono';
 *
 * const app = new Hono();
 * app.route('/data', createExecApp({ service: createService({ store: createMemoryStore() }) }));
 * serve({ fetch: app.fetch, port: 8080 });
 * ```
 */
export { createExecApp, type ExecAppOptions } from './create-exec-app.ts';
export type { EndpointResponse } from './response/endpoint-response.ts';
export {
  addEndpoint,
  addEndpoints,
  answerRequest,
  type EndpointHandlers,
  type EndpointOptions,
  type Handler,
  type Handlers,
  type HandlersOf,
  type WriteParams,
} from './endpoints/add-endpoints.ts';
export type {
  EndpointRow,
  EndpointTable,
  JsonSchema,
  Method,
  MethodRow,
  ParameterRow,
  ParameterTable,
  RequestContent,
  ResponseContent,
  ResponseHeader,
  ResponseRow,
  Use,
} from './endpoints/endpoint-table.ts';
export { ENDPOINTS } from './endpoints/endpoints.ts';
export type { AuthenticationKind, HostInfo } from './endpoints/server-handlers.ts';
export type { Authenticate } from './request/authenticate.ts';
export type { ExecEnv, RequestContext } from './request/request-context.ts';
export { createResponseCache, type ResponseCache } from './cache/response-cache.ts';
export { errorResponse } from './response/endpoint-response.ts';
export {
  createRequestGuard,
  type GuardedRequest,
  type RequestGuard,
  type RequestGuardOptions,
} from './request/request-guard.ts';
export { writeStreamed } from './response/streamed-body.ts';
