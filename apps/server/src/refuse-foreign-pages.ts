import { ServiceError } from '@svc/errors';
import { answerRequest, type EndpointOptions, type ExecEnv } from '@svc/exec-http';
import type { MiddlewareHandler } from 'hono';

/**
 * Keeps web pages of origins that are not allowed from running SQL. A page needs no leave to make a browser send a GET
 * or a plain POST, only to read the answer; but the SQL would run. Browsers say with `Sec-Fetch-Site` where a request
 * comes from, and other clients do not send it.
 */
export function refuseForeignPages(
  allowedOrigins: readonly string[],
  endpoint: EndpointOptions,
): MiddlewareHandler<ExecEnv> {
  return async (c, next) => {
    const site = c.req.header('sec-fetch-site') ?? 'none';
    const origin = c.req.header('origin');
    const isForeign = !['none', 'same-origin'].includes(site) && !(origin && allowedOrigins.includes(origin));
    if (!isForeign || (c.req.method === 'GET' && c.req.query('query') === undefined)) return next();
    const error = new ServiceError('permission_denied', 'A web page of another origin may not run SQL here.', {
      hint: 'Name the origin of the page in http.cors_origins, and let the page send the request with fetch().',
    });
    return answerRequest(c, endpoint, () => ({ error }));
  };
}
