import { prepend } from '@svc/frames/internal';
import { discardRest } from './discard-rest.ts';

/** The body of a request, read as it comes. */
export type BodyChunks = AsyncGenerator<Uint8Array, void>;

/** Who reads the body of a request. */
const readers = new WeakMap<Request, BodyChunks>();

/**
 * The body of a request; empty where there is none. The stream is not touched before the first chunk is asked for: a
 * client that waits for `100 Continue` must not get it for a body that is refused unread.
 */
export function openBody(request: Request): BodyChunks {
  const chunks = chunksOf(request);
  readers.set(request, chunks);
  return chunks;
}

/** Blanks before the first character that are passed over to find it. */
const MAX_BLANK_BYTES = 64 * 1024;

/** Whether a body begins with a character, blanks apart; and the body, of which nothing is missing. */
export async function beginsWith(
  request: Request,
  character: string,
): Promise<{ readonly isSo: boolean; readonly body: BodyChunks }> {
  const rest = openBody(request);
  const head: Uint8Array[] = [];
  let first: string | undefined;
  for (let bytes = 0; first === undefined && bytes < MAX_BLANK_BYTES;) {
    const { done, value } = await rest.next();
    if (done === true) break;
    head.push(value);
    bytes += value.byteLength;
    first = Buffer.from(value).toString('latin1').trimStart()[0];
  }
  return { isSo: first === character, body: prepend(head, rest) };
}

/** Reads what is left of a body that was refused, for a limited time. */
export async function discardBody(request: Request): Promise<void> {
  const reader = readers.get(request);
  if (request.body) await discardRest(request.body, reader);
}

/** What is not read is left in the stream. */
async function* chunksOf(request: Request): BodyChunks {
  if (request.body) yield* request.body.values({ preventCancel: true });
}
