import { type ExecEnv } from '@svc/exec-http';
import { requestIdFrom } from '@svc/frames';
import type { Observer } from '@svc/service';
import type { MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import { reportUnrouted } from './report-unrouted.ts';

/** Allows pages of these origins to read responses. Handles only preflights; a plain OPTIONS request passes through. */
export function allowOrigins(origins: readonly string[], observe: Observer): MiddlewareHandler<ExecEnv> {
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
