import { ServiceError } from '@svc/errors';
import { createYield } from '@svc/frames/async';
import { readHead } from '@svc/frames/streams';
import type { RequestContext } from './request-context.ts';

/** The body of a request as a stream of chunks. */
export type BodyChunks = AsyncGenerator<Uint8Array, void>;

/** The current reader of each request body. */
const readers = new WeakMap<Request, BodyChunks>();

/**
 * Returns the body of a request, and counts its bytes; empty if there is none. The stream is not touched before the
 * first `next()`: a client must not get `100 Continue` if the body is refused unread.
 */
export function openBody(context: RequestContext): BodyChunks {
  const chunks = countedChunks(context);
  readers.set(context.c.req.raw, chunks);
  return chunks;
}

/** How much leading whitespace to skip. */
const MAX_BLANK_BYTES = 64 * 1024;

/** Looks at the first character of a body, after any whitespace. Also returns the complete body. */
export async function beginsWith(
  rest: BodyChunks,
  character: string,
): Promise<{ readonly matches: boolean; readonly body: BodyChunks }> {
  let first: string | undefined;
  let bytes = 0;
  const { all } = await readHead(rest, (chunk) => {
    bytes += chunk.byteLength;
    first = Buffer.from(chunk).toString('latin1').trimStart()[0];
    return first !== undefined || bytes >= MAX_BLANK_BYTES;
  });
  return { matches: first === character, body: all };
}

/** Reads and discards the rest of a refused body, for a limited time. */
export async function discardBody(request: Request): Promise<void> {
  const reader = readers.get(request);
  if (request.body) await discardRest(request.body, reader);
}

/** Up to this length a body is read at once: a stream would cost more than the bytes. */
const MAX_SHORT_BYTES = 64 * 1024;

/** Chunks can arrive faster than they are used, in one turn of the event loop: others get turns in between. */
async function* countedChunks(context: RequestContext): BodyChunks {
  const pause = createYield();
  for await (const chunk of chunksOf(context)) {
    await pause();
    context.requestBytes += chunk.byteLength;
    yield chunk;
  }
}

/** Leaves unread chunks in the stream. */
async function* chunksOf({ c, requestBytes }: RequestContext): BodyChunks {
  const request = c.req.raw;
  const length = Number(request.headers.get('content-length') ?? Infinity);
  // The rest of the stream would pass for an empty body.
  if (length > 0 && requestBytes === 0 && c.env?.incoming?.readableEnded === true) throw bodyWasRead();
  try {
    if (length > 0 && length <= MAX_SHORT_BYTES) yield new Uint8Array(await request.arrayBuffer());
    else if (request.body) yield* request.body.values({ preventCancel: true });
  } catch (error) {
    throw error instanceof TypeError && request.bodyUsed ? bodyWasRead(error) : error;
  }
}

/** A mistake of the host. */
function bodyWasRead(cause?: unknown): TypeError {
  const message = 'The body was read before the API got it. Mount the API before middleware that reads bodies.';
  return new TypeError(message, { cause });
}

/** How long to read the rest of a refused body: some clients read the response only after their upload. */
const MAX_MS = 10_000;

/**
 * Reads and discards the rest of a refused body. If the connection were closed instead, clients that send the whole body
 * first would never see the response. After ten seconds the stream is cancelled, and with it the connection. `reading` is
 * the current reader of the body; it is closed first, because a last read may still be pending.
 */
async function discardRest(
  body: ReadableStream<Uint8Array>,
  reading: AsyncIterator<Uint8Array> | undefined,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, MAX_MS);
  });
  try {
    await Promise.race([Promise.resolve(reading?.return?.()).catch(() => {}), timeout]);
    if (body.locked) return;
    const reader = body.getReader();
    await Promise.race([readToEnd(reader), timeout]);
    void reader.cancel().catch(() => {});
  } finally {
    clearTimeout(timer);
  }
}

async function readToEnd(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // The client disconnected: nothing is left to read.
  }
}

/** Reads a body as text. Throws if it is longer than `maxBytes` or not UTF-8. */
export async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number, hint: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > maxBytes)
      throw new ServiceError('payload_too_large', `The body is longer than ${maxBytes} bytes.`, { hint });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new ServiceError('invalid_argument', 'The body is not UTF-8 text.', {
      hint: 'Send the text encoded as UTF-8.',
    });
  }
}
