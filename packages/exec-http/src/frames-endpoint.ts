import { quoted, ServiceError } from '@svc/errors';
import { ENCODINGS, type FrameInfo, type ListOptions, UPLOAD_FORMATS, type UploadFormat } from '@svc/frames';
import { type PutFrameOptions, type Service, TTL_HINT } from '@svc/service';
import * as v from 'valibot';
import type { Answer } from './answer.ts';
import { discardRest } from './discard-rest.ts';
import type { Exchange, Handlers } from './endpoint.ts';
import { parseIfMatch } from './etag.ts';
import { parseCount } from './exec-params.ts';
import { decodePart, mapGiven, type Params, parseQueryString, single } from './query-string.ts';
import { readText } from './read-text.ts';

const MAX_PATCH_BYTES = 16 * 1024;

const PatchBody = v.strictObject({ ttl: v.nullable(v.number()) });

/** `GET /frames`: what there is. */
export function frameListHandlers(service: Service): Handlers {
  return {
    GET: async ({ c, call }) => {
      const frames = await service.listFrames(call, listOptions(parseQueryString(c.req.url)));
      return jsonAnswer({ frames });
    },
  };
}

/** `/frames/{handle}`: the life of one frame. */
export function frameHandlers(service: Service): Handlers {
  return {
    GET: async (exchange) => frameAnswer(await service.describeFrame(exchange.call, handleOf(exchange))),
    PUT: async (exchange) => {
      const { c, call } = exchange;
      const handle = handleOf(exchange);
      const params = parseQueryString(c.req.url);
      const format = uploadFormat(
        single(params, 'fmt'),
        c.req.header('content-type'),
        c.req.header('content-encoding'),
      );
      const options = putOptions(exchange, single(params, 'ttl'));
      const bytes = Number(c.req.header('content-length') ?? 0);
      const stream = c.req.raw.body;
      const body = stream?.values({ preventCancel: true }) ?? emptyBody();
      try {
        const { info, created } = await service.putFrame(call, handle, { format, body, bytes }, options);
        return frameAnswer(info, created ? 201 : 200);
      } catch (error) {
        if (stream) await discardRest(stream, body);
        throw error;
      }
    },
    PATCH: async (exchange) => {
      refuseConditions(exchange);
      const handle = handleOf(exchange);
      const { ttl } = await patchBody(exchange);
      return frameAnswer(await service.expireFrame(exchange.call, handle, ttl));
    },
    DELETE: async (exchange) => {
      refuseConditions(exchange);
      await service.dropFrame(exchange.call, handleOf(exchange));
      return { status: 204 };
    },
  };
}

/** A value as the JSON body of an answer. */
export function jsonAnswer(value: unknown, status = 200): Answer {
  return { status, headers: { 'content-type': ENCODINGS.json.out.contentType }, body: JSON.stringify(value) };
}

function frameAnswer(info: FrameInfo, status = 200): Answer {
  return { ...jsonAnswer(info, status), version: info.version };
}

/** The last part of the path, decoded strictly: Hono would pass a broken escape on as it is. */
function handleOf({ c }: Exchange): string {
  const { pathname } = new URL(c.req.url);
  return decodePart(pathname.slice(pathname.lastIndexOf('/') + 1));
}

function listOptions(params: Params): ListOptions {
  const prefix = single(params, 'prefix');
  const after = single(params, 'after');
  const limit = single(params, 'limit');
  return {
    ...(prefix !== undefined && { prefix }),
    ...(after !== undefined && { after }),
    ...(limit !== undefined && { limit: parseCount('limit', limit, 'Write limit=100 for the first 100 frames.') }),
  };
}

const UPLOAD_TYPES = UPLOAD_FORMATS.flatMap((format) =>
  ENCODINGS[format].in.types.map((type) => [type, format] as const),
);

function uploadFormat(fmt: string | undefined, contentType = '', contentEncoding = 'identity'): UploadFormat {
  const types = UPLOAD_TYPES.map(([type]) => type).join(', ');
  const hint = `Send one of these as Content-Type: ${types}; or say it with ?fmt=${UPLOAD_FORMATS.join(' or ?fmt=')}.`;
  if (contentEncoding.trim().toLowerCase() !== 'identity') {
    throw new ServiceError('unsupported_media_type', `Content-Encoding: ${quoted(contentEncoding)} is not read here.`, {
      hint: 'Send the body as it is, without Content-Encoding.',
    });
  }
  const mediaType = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  const [, format] = UPLOAD_TYPES.find(([type, name]) => (fmt === undefined ? type === mediaType : name === fmt)) ?? [];
  if (format !== undefined) return format;
  const given = fmt === undefined ? `Content-Type ${quoted(contentType)}` : `fmt=${quoted(fmt)}`;
  throw new ServiceError('unsupported_media_type', `${given} is not a format that frames can be uploaded in.`, {
    hint,
  });
}

function putOptions({ c }: Exchange, ttl: string | undefined): PutFrameOptions {
  const ifMatch = mapGiven(c.req.header('if-match'), parseIfMatch);
  const ifNoneMatch = c.req.header('if-none-match');
  if (ifNoneMatch !== undefined && ifNoneMatch.trim() !== '*') {
    throw new ServiceError('invalid_argument', `If-None-Match: ${quoted(ifNoneMatch)} has no meaning for PUT.`, {
      hint: 'Send If-None-Match: * to put only where there is no frame yet.',
    });
  }
  return {
    ifAbsent: ifNoneMatch !== undefined,
    ifPresent: ifMatch === '*',
    ...(ifMatch !== undefined && ifMatch !== '*' && { ifVersion: ifMatch }),
    ...(ttl !== undefined && { ttlSeconds: parseCount('ttl', ttl, TTL_HINT) }),
  };
}

/** A condition that is not looked at must not be taken for one that holds. */
function refuseConditions({ c }: Exchange): void {
  for (const name of ['If-Match', 'If-None-Match', 'If-Unmodified-Since']) {
    if (c.req.header(name) === undefined) continue;
    throw new ServiceError('invalid_argument', `${name} has no meaning for ${c.req.method}.`, {
      hint: `Send the request without ${name}; conditions work with PUT.`,
    });
  }
}

async function patchBody({ c }: Exchange): Promise<v.InferOutput<typeof PatchBody>> {
  const hint = `Send {"ttl": 3600} to let the frame end in an hour, {"ttl": null} to keep it. ${TTL_HINT}`;
  const text = await readText(c.req.raw, MAX_PATCH_BYTES, hint);
  const parsed = v.safeParse(PatchBody, parseJson(text));
  if (parsed.success) return parsed.output;
  throw new ServiceError('invalid_argument', `The body ${quoted(text)} is not a change of a frame.`, { hint });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function* emptyBody(): AsyncGenerator<Uint8Array, void> {}
