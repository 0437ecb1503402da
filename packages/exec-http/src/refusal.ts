import { ERROR_CODES, type ServiceError, toErrorBody } from '@svc/errors';
import type { RequestContext } from './request-context.ts';
import { errorHeaders } from './error-response.ts';
import { discardBody } from './request-body.ts';

/** What a response of an error has besides the error. */
export interface RefusalOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Fields of the body that clients of line protocol and tools of QuestDB expect. Default: none. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/**
 * Reports a failed request and returns its response. All bytes are sent at once. If the client is still sending its body,
 * the response ends only after that is read, because some servers close the connection when a response ends.
 */
export function refusal(
  context: RequestContext,
  error: ServiceError,
  { headers, fields }: RefusalOptions = {},
): Response {
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
