import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { PutFrameOptions, Service, ShownInfo } from '@svc/service';
import { TTL_HINT } from '@svc/service/internal';
import type { EndpointResponse } from '../endpoint-response.ts';
import type { RequestContext } from '../request-context.ts';
import { parseIfMatch } from '../etag.ts';
import { checkRowParams, csvOptions, rowsOptions } from '../params/csv-params.ts';
import { parseCount } from '../exec-params.ts';
import { jsonResponse } from '../json-response.ts';
import { mapGiven, parseQueryString, single } from '../query-string.ts';
import { openUpload, type UploadBody } from './upload-body.ts';

/** Returns a response with the metadata of a frame. */
export function frameResponse(info: ShownInfo, status = 200): Extract<EndpointResponse, { body?: unknown }> {
  return { ...jsonResponse(info, status), version: info.version };
}

/** Puts or appends the rows in the request body, and responds with the metadata of the frame. */
export async function writeFrame(
  service: Service,
  context: RequestContext,
  handle: string,
  operation: 'putFrame' | 'appendFrame',
): Promise<Extract<EndpointResponse, { body?: unknown }>> {
  return writeUpload(service, context, handle, operation, await openUpload(service, context));
}

/** Puts or appends rows, and responds with the metadata of the frame. */
export async function writeUpload(
  service: Service,
  context: RequestContext,
  handle: string,
  operation: 'putFrame' | 'appendFrame',
  { format, body, contentType }: UploadBody,
): Promise<Extract<EndpointResponse, { body?: unknown }>> {
  const { c, call } = context;
  context.format = format;
  const params = parseQueryString(c.req.url);
  checkRowParams(params, format);
  const csv = format === 'csv' && { csv: csvOptions(params, contentType) };
  const rows = (format === 'json' || format === 'ndjson') && { rows: rowsOptions(params) };
  const options = putOptions(context, single(params, 'ttl'));
  const bytes = Number(c.req.header('content-length') ?? 0);
  const { info, created } = await service[operation](call, handle, { format, body, bytes, ...csv, ...rows }, options);
  return frameResponse(info, created ? 201 : 200);
}

/** Returns the conditions of a write and the TTL of the frame. */
export function putOptions({ c }: RequestContext, ttl: string | undefined): PutFrameOptions {
  const ifMatch = mapGiven(c.req.header('if-match'), parseIfMatch);
  const ifNoneMatch = c.req.header('if-none-match');
  if (ifNoneMatch !== undefined && ifNoneMatch.trim() !== '*') {
    throw new ServiceError(
      'invalid_argument',
      `If-None-Match: ${quoted(ifNoneMatch)} is not supported for ${c.req.method}.`,
      { hint: 'Send If-None-Match: * to put the frame only if it does not exist.' },
    );
  }
  return {
    ifAbsent: ifNoneMatch !== undefined,
    ifPresent: ifMatch === '*',
    ...(ifMatch !== undefined && ifMatch !== '*' && { ifVersion: ifMatch }),
    ...(ttl !== undefined && { ttlSeconds: parseCount('ttl', ttl, TTL_HINT) }),
  };
}
