import type { ServiceError } from '@svc/errors';
import type { RequestContext } from './request-context.ts';
import { errorResponse } from './error-response.ts';
import { discardBody } from './request-body.ts';

/**
 * Returns the response to a failed request. All bytes are sent at once. If the client is still sending its body, the
 * response ends only after that is read, because some servers close the connection when a response ends.
 */
export async function refusal(
  { c, call, guard }: RequestContext,
  error: ServiceError,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const response = errorResponse(error, call.requestId, { ...guard.headers, ...headers });
  if (!isSending(c)) return response;
  const bytes = new Uint8Array(await response.arrayBuffer());
  const { status } = response;
  const length = { 'content-length': String(bytes.byteLength) };
  return new Response(thenDiscard(bytes, c.req.raw), {
    status,
    headers: { ...Object.fromEntries(response.headers), ...length },
  });
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
