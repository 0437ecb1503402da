import { ServiceError } from '@svc/errors';
import { ENCODINGS, type Format, type FrameInfo, isHandle, type ListOptions, quoted } from '@svc/frames';
import type { PutFrameOptions, Service } from '@svc/service';
import * as v from 'valibot';
import type { Answer, Exchange, Handlers } from './endpoint.ts';
import { etagOf, parseIfMatch } from './etag.ts';
import { parseCount } from './exec-params.ts';
import { discardRest } from './discard-rest.ts';
import { decodePart, type Params, parseQueryString } from './query-string.ts';

/** 100 years: beyond it a frame is kept for ever. */
const MAX_TTL_SECONDS = 100 * 365 * 24 * 3600;
const TTL_HINT = 'ttl is in whole seconds, from 1 to 3153600000 (100 years).';
const MAX_PATCH_BYTES = 16 * 1024;

const PatchBody = v.strictObject({
  ttl: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_TTL_SECONDS))),
});

/** `GET /frames`: what there is. */
export function frameListHandlers(service: Service): Handlers {
  return {
    GET: async ({ c, call }) => {
      const frames = await service.listFrames(call, listOptions(parseQueryString(c.req.url)));
      return json({ frames });
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
      const options = await putOptions(service, exchange, handle, single(params, 'ttl'));
      const bytes = Number(c.req.header('content-length') ?? 0);
      const stream = c.req.raw.body;
      const body = stream?.values({ preventCancel: true }) ?? emptyBody();
      try {
        const { info, created } = await service.putFrame(call, handle, { format, body, bytes }, options);
        return frameAnswer(info, created ? 201 : 200);
      } catch (error) {
        if (stream) await discardRest(stream);
        throw error;
      }
    },
    PATCH: async (exchange) => {
      const handle = handleOf(exchange);
      const { ttl } = await patchBody(exchange);
      return frameAnswer(await service.expireFrame(exchange.call, handle, ttl));
    },
    DELETE: async (exchange) => {
      await service.dropFrame(exchange.call, handleOf(exchange));
      return { response: new Response(null, { status: 204 }) };
    },
  };
}

function json(value: unknown, status = 200): Answer {
  const headers = { 'content-type': ENCODINGS.json.contentType };
  return { response: new Response(JSON.stringify(value), { status, headers }) };
}

function frameAnswer(info: FrameInfo, status = 200): Answer {
  const answer = json(info, status);
  answer.response.headers.set('etag', etagOf(info.version));
  return answer;
}

/** The last part of the path, decoded strictly: Hono would pass a broken escape on as it is. */
function handleOf({ c }: Exchange): string {
  const { pathname } = new URL(c.req.url);
  return decodePart(pathname.slice(pathname.lastIndexOf('/') + 1), false);
}

function single(params: Params, name: string): string | undefined {
  const values = params.filter(([given]) => given === name);
  if (values.length > 1) {
    throw new ServiceError('invalid_argument', `The parameter ${name} is given more than once.`, {
      hint: `Send ${name} once.`,
    });
  }
  return values[0]?.[1];
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

const FORMATS: readonly Format[] = ['json', 'arrow'];
const UPLOAD_TYPES = FORMATS.flatMap((format) => ENCODINGS[format].uploadTypes.map((type) => [type, format] as const));

function uploadFormat(fmt: string | undefined, contentType = '', contentEncoding = 'identity'): Format {
  const types = UPLOAD_TYPES.map(([type]) => type).join(', ');
  const hint = `Send one of these as Content-Type: ${types}; or say it with ?fmt=${FORMATS.join(' or ?fmt=')}.`;
  if (contentEncoding !== 'identity') {
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

async function putOptions(
  service: Service,
  { c, call }: Exchange,
  handle: string,
  ttl: string | undefined,
): Promise<PutFrameOptions> {
  const ifMatch = mapGiven(c.req.header('if-match'), parseIfMatch);
  const ifNoneMatch = c.req.header('if-none-match');
  if (ifNoneMatch !== undefined && ifNoneMatch.trim() !== '*') {
    throw new ServiceError('invalid_argument', `If-None-Match: ${quoted(ifNoneMatch)} has no meaning for PUT.`, {
      hint: 'Send If-None-Match: * to put only where there is no frame yet.',
    });
  }
  // A handle that is not there has no version; the empty text stands for that and matches none.
  const current = ifMatch === '*' && isHandle(handle) ? await currentVersion(service, call, handle) : ifMatch;
  return {
    ...(ifNoneMatch !== undefined && { ifAbsent: true }),
    ...(current !== undefined && { ifVersion: current }),
    ...(ttl !== undefined && { ttlSeconds: parseTtl(ttl) }),
  };
}

async function currentVersion(service: Service, call: Exchange['call'], handle: string): Promise<string> {
  try {
    return (await service.describeFrame(call, handle)).version;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'handle_not_found') return '';
    throw error;
  }
}

function parseTtl(text: string): number {
  const seconds = parseCount('ttl', text, TTL_HINT);
  if (seconds >= 1 && seconds <= MAX_TTL_SECONDS) return seconds;
  throw new ServiceError('invalid_argument', `ttl=${quoted(text)} is out of range.`, { hint: TTL_HINT });
}

async function patchBody({ c }: Exchange): Promise<v.InferOutput<typeof PatchBody>> {
  const hint = `Send {"ttl": 3600} to let the frame end in an hour, {"ttl": null} to keep it. ${TTL_HINT}`;
  let text = '';
  const decoder = new TextDecoder();
  const body: AsyncIterable<Uint8Array> = c.req.raw.body ?? emptyBody();
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_PATCH_BYTES) {
      throw new ServiceError('payload_too_large', `The body is longer than ${MAX_PATCH_BYTES} bytes.`, { hint });
    }
  }
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

function mapGiven<T>(text: string | undefined, parse: (text: string) => T): T | undefined {
  return text === undefined ? undefined : parse(text);
}

async function* emptyBody(): AsyncGenerator<Uint8Array, void> {}
