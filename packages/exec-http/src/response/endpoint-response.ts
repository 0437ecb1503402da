import { ERROR_CODES, type ServiceError, toErrorBody } from '@svc/errors';
import { ENCODINGS } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { prepend } from '@svc/frames/streams';
import { etagOf } from '../request/conditions.ts';
import { discardBody } from '../request/request-body.ts';
import type { RequestContext } from '../request/request-context.ts';
import { compressBytes, compressChunks, isWorthGzip } from './compress.ts';
import { streamedBody } from './streamed-body.ts';

/** The response of a handler, before it is encoded. */
export type EndpointResponse =
  | {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** The body: complete, or a stream of chunks. Default: none. */
      readonly body?: string | Uint8Array | AsyncGenerator<Uint8Array, void>;
      /** The length of the body, if it is known without it; HEAD has the length alone. */
      readonly length?: number;
      /** True if each chunk (without `length`: after the first) is valid only until the next `next()`. Default false. */
      readonly reuseBuffers?: boolean;
      /** True if the body is already compressed. Default false. */
      readonly isPacked?: boolean;
      /** The version of the frame, for the ETag. */
      readonly version?: string;
    }
  | {
      /** A response of another server, forwarded unchanged. */
      readonly forwarded: {
        readonly status: number;
        readonly headers: Record<string, string>;
        readonly body: ReadableStream<Uint8Array> | null;
        /** The body in chunks, each valid until the next `next()`. */
        readonly chunks?: AsyncIterator<Uint8Array, void>;
      };
    }
  | (RefusalOptions & { readonly error: ServiceError });

/** Encodes a response: compressed if it helps, with its length if it is short, streamed otherwise. */
export async function toResponse(
  reply: EndpointResponse,
  context: RequestContext,
  compression: boolean,
): Promise<Response> {
  if ('forwarded' in reply) return forwardedResponse(reply.forwarded, context);
  if ('error' in reply) {
    return refusal(context, reply.error, reply);
  }
  // A plain object, not `Headers`: the adapter sends it as it is.
  const headers: Record<string, string> = {
    ...reply.headers,
    ...context.guard.headers,
    // Keep browsers from rendering data as a page.
    'x-content-type-options': 'nosniff',
    'x-request-id': context.call.requestId,
  };
  const { status = 200, version, length, isPacked = false, reuseBuffers = false } = reply;
  if (length !== undefined) headers['content-length'] = String(length);
  const body = await shortened(reply.body, length);
  const byteLength = body === undefined ? 0 : 'byteLength' in body ? body.byteLength : Infinity;
  const isCompressed = compression && !isPacked && isWorthGzip(byteLength, context.c.req.header('accept-encoding'));
  if (compression && body) headers['vary'] ??= 'accept-encoding';
  if (isCompressed) headers['content-encoding'] = 'gzip';
  if (version !== undefined) headers['etag'] ??= etagOf(version, isCompressed);
  if (body === undefined || 'byteLength' in body) {
    const bytes = body && isCompressed ? await compressBytes(body) : body;
    context.report(status, undefined, bytes?.byteLength);
    return new Response(bytes, { status, headers });
  }
  if (context.c.req.method === 'HEAD') {
    await body.return();
    context.report(status);
    return new Response(null, { status, headers });
  }
  const source = isCompressed ? { chunks: compressChunks(body), reuseBuffers: false } : { chunks: body, reuseBuffers };
  return new Response(streamedBody(source, status, context), { status, headers });
}

function forwardedResponse(
  reply: Extract<EndpointResponse, { forwarded: unknown }>['forwarded'],
  context: RequestContext,
): Response {
  const { status, headers, body, chunks } = reply;
  headers['x-content-type-options'] = 'nosniff';
  headers['x-request-id'] = context.call.requestId;
  Object.assign(headers, context.guard.headers);
  if (chunks !== undefined) {
    return new Response(streamedBody({ chunks, reuseBuffers: true }, status, context), { status, headers });
  }
  if (body === null) {
    context.report(status);
    return new Response(null, { status, headers });
  }
  const source = { chunks: body[Symbol.asyncIterator](), reuseBuffers: false };
  return new Response(streamedBody(source, status, context), { status, headers });
}

/** Returns the bytes of a body with at most one chunk: its length is then known. Any other body stays as it is. */
async function shortened(
  body: string | Uint8Array | AsyncGenerator<Uint8Array, void> | undefined,
  length: number | undefined,
): Promise<Uint8Array | AsyncGenerator<Uint8Array, void> | undefined> {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body === undefined || 'byteLength' in body || length !== undefined) return body;
  const first = await body.next();
  if (first.done === true) return new Uint8Array(0);
  const second = await body.next();
  return second.done === true ? first.value : prepend([first.value, second.value], body);
}

/** What a response of an error has besides the error. */
interface RefusalOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Further fields of the body, for clients of line protocol and tools of QuestDB. Default: none. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/**
 * Reports a failed request and returns its response. All bytes are sent at once. If the client is still sending its body,
 * the response ends only after that is read, because some servers close the connection when a response ends.
 */
function refusal(context: RequestContext, error: ServiceError, { headers, fields }: RefusalOptions = {}): Response {
  const { c, call, guard } = context;
  const body = Buffer.from(JSON.stringify({ ...toErrorBody(error, call.requestId), ...fields }));
  const status = ERROR_CODES[error.code].http;
  const shown = errorHeaders(error, call.requestId, { ...guard.headers, ...headers });
  // Clients of line protocol parse the body only if there is no charset.
  if (fields !== undefined) shown['content-type'] = 'application/json';
  context.report(status, error, body.byteLength);
  if (!isSending(c)) return new Response(body, { status, headers: shown });
  shown['content-length'] = String(body.byteLength);
  return new Response(thenDiscard(body, c.req.raw), { status, headers: shown });
}

function isSending({ req, env }: RequestContext['c']): boolean {
  if (req.method === 'GET' || req.method === 'HEAD' || env?.incoming?.complete === true) return false;
  return req.header('transfer-encoding') !== undefined || Number(req.header('content-length') ?? 0) > 0;
}

function thenDiscard(bytes: Uint8Array, request: Request): ReadableStream<Uint8Array> {
  let isSent = false;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!isSent) {
          isSent = true;
          return controller.enqueue(bytes);
        }
        await discardBody(request);
        return controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/** By then some of the running requests have usually ended. */
const RETRY_AFTER_SECONDS = 1;

const CHALLENGE = 'Bearer realm="svc"';

/** The challenge of a 401 response to a request with credentials. */
export const INVALID_TOKEN_CHALLENGE: string = `${CHALLENGE}, error="invalid_token"`;

/** Returns the response of an error: the status of its code and its JSON body. */
export function errorResponse(
  error: ServiceError,
  requestId: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const body = JSON.stringify(toErrorBody(error, requestId));
  return new Response(body, { status: ERROR_CODES[error.code].http, headers: errorHeaders(error, requestId, headers) });
}

/** Returns the headers of the response of an error. */
function errorHeaders(
  error: ServiceError,
  requestId: string,
  headers: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    'x-content-type-options': 'nosniff',
    ...(error.code === 'unauthenticated' && { 'www-authenticate': CHALLENGE }),
    ...(error.code === 'too_many_requests' && {
      'retry-after': String(error.retryAfterSeconds ?? RETRY_AFTER_SECONDS),
    }),
    ...headers,
    'content-type': ENCODINGS.json.out.contentType,
    'x-request-id': requestId,
  };
}

/** Returns a response with a JSON body. */
export function jsonResponse(
  value: unknown,
  status = 200,
): Extract<EndpointResponse, { body?: unknown }> & { readonly body: string } {
  return { status, headers: { 'content-type': ENCODINGS.json.out.contentType }, body: JSON.stringify(value) };
}

const CHUNK_CHARACTERS = 64 * 1024;

/**
 * Encodes `{"name": [items]}` piece by piece: the list of 20 000 frames is 10 MB of JSON, and other requests must not wait
 * for it.
 */
export async function* jsonList(name: string, items: Iterable<object>): AsyncGenerator<Uint8Array, void> {
  const pause = createYield();
  let text = `{${JSON.stringify(name)}:[`;
  let separator = '';
  for (const item of items) {
    await pause();
    text += separator + JSON.stringify(item);
    separator = ',';
    if (text.length <= CHUNK_CHARACTERS) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(`${text}]}`);
}
