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
export type { EndpointResponse } from './endpoint-response.ts';
export {
  addEndpoint,
  answerRequest,
  type Authenticate,
  type EndpointOptions,
  type Handler,
  type Handlers,
  type HandlersOf,
} from './endpoint.ts';
export { addEndpoints, type EndpointHandlers } from './endpoints/add-endpoints.ts';
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
export type { AuthenticationKind, HostInfo } from './queries/info-endpoint.ts';
export type { ExecEnv, RequestContext } from './request-context.ts';
export { createResponseCache, type ResponseCache } from './cache/response-cache.ts';
export { errorResponse } from './error-response.ts';
export {
  createRequestGuard,
  type GuardedRequest,
  type RequestGuard,
  type RequestGuardOptions,
} from './request-guard.ts';
export { writeStreamed } from './streamed-body.ts';
export type { WriteParams } from './upload/write-params.ts';
