import { limitBytes } from '@svc/frames/internal';
import type { Service } from '@svc/service';
import type { Handler } from '../endpoint.ts';
import { openBody } from '../request-body.ts';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const ALLOW = { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' };

/**
 * Forwards any request to the time-series database, with its method, body and streaming: for the paths that this server does
 * not have. The permission is checked before the body is read. OPTIONS is answered here: browsers send it without credentials.
 */
export function forwardHandler(service: Service): Handler {
  return async (context) => {
    const { c, call } = context;
    const { method } = c.req;
    if (method === 'OPTIONS') return { status: 204, headers: ALLOW };
    const operation = READS.has(method) ? 'forwardRead' : 'forwardChange';
    service.authorize(call, operation);
    const { pathname, search } = new URL(c.req.url);
    const request = { method, target: pathname + search, headers: c.req.header() };
    if (operation === 'forwardRead') return { forwarded: await service.forwardRead(call, request) };
    const body = limitBytes(openBody(context), service.maxUploadBytes);
    return { forwarded: await service.forwardChange(call, { ...request, body }) };
  };
}
