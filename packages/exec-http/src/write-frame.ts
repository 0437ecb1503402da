import { quoted, ServiceError } from '@svc/errors';
import { ENCODINGS, type FrameInfo, UPLOAD_FORMATS, type UploadFormat } from '@svc/frames';
import { type PutFrameOptions, type Service, TTL_HINT } from '@svc/service';
import type { EndpointResponse } from './endpoint-response.ts';
import type { RequestContext } from './request-context.ts';
import { parseIfMatch } from './etag.ts';
import { csvOptions } from './params/csv-params.ts';
import { parseCount } from './exec-params.ts';
import { jsonResponse } from './json-response.ts';
import { openBody } from './request-body.ts';
import { mapGiven, parseQueryString, single } from './query-string.ts';

/** Returns a response with the metadata of a frame. */
export function frameResponse(info: FrameInfo, status = 200): Extract<EndpointResponse, { body?: unknown }> {
  return { ...jsonResponse(info, status), version: info.version };
}

/** Puts or appends the rows in the request body, and responds with the metadata of the frame. */
export async function writeFrame(
  service: Service,
  context: RequestContext,
  handle: string,
  operation: 'putFrame' | 'appendFrame',
  body = openBody(context.c.req.raw),
): Promise<Extract<EndpointResponse, { body?: unknown }>> {
  const { c, call } = context;
  const params = parseQueryString(c.req.url);
  const format = uploadFormat(service.uploadFormats, single(params, 'fmt'), (name) => c.req.header(name));
  const csv = format === 'csv' && { csv: csvOptions(params, c.req.header('content-type') ?? '') };
  const options = putOptions(context, single(params, 'ttl'));
  const bytes = Number(c.req.header('content-length') ?? 0);
  const { info, created } = await service[operation](call, handle, { format, body, bytes, ...csv }, options);
  return frameResponse(info, created ? 201 : 200);
}

function uploadFormat(
  formats: readonly UploadFormat[],
  fmt: string | undefined,
  header: (name: string) => string | undefined,
): UploadFormat {
  const contentEncoding = header('content-encoding') ?? 'identity';
  if (contentEncoding.trim().toLowerCase() !== 'identity') {
    throw new ServiceError('unsupported_media_type', `Content-Encoding: ${quoted(contentEncoding)} is not supported.`, {
      hint: 'Send the body without Content-Encoding.',
    });
  }
  const contentType = header('content-type') ?? '';
  const mediaType = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  const typesOf = (format: UploadFormat): readonly string[] => ENCODINGS[format].in.types;
  const found = formats.find((name) => (fmt === undefined ? typesOf(name).includes(mediaType) : name === fmt));
  if (found !== undefined) return found;
  const given = fmt === undefined ? `Content-Type ${quoted(contentType)}` : `fmt=${quoted(fmt)}`;
  const types = formats.flatMap(typesOf).join(', ');
  const isKnown = UPLOAD_FORMATS.some(
    (name) => name === fmt || (fmt === undefined && typesOf(name).includes(mediaType)),
  );
  if (isKnown) {
    throw new ServiceError(
      'unsupported_media_type',
      `${given} is not supported: this server stores frames in memory.`,
      {
        hint: `Send ${formats.join(', ')}.`,
      },
    );
  }
  throw new ServiceError('unsupported_media_type', `${given} is not an upload format.`, {
    hint: `Send one of these as Content-Type: ${types}; or add ?fmt=${formats.join(' or ?fmt=')}.`,
  });
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
