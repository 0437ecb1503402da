import { orAborted } from '@svc/errors';
import { prepend } from '@svc/frames/internal';

/** A body, read to its end if it is short. */
export type StartedBody =
  | { readonly isShort: true; readonly bytes: Uint8Array }
  | { readonly isShort: false; readonly body: AsyncIterable<Uint8Array> };

/** Longer bodies go to a file. */
const MAX_SHORT_BYTES = 64 * 1024;

/** Reads the start of a body into memory, and the whole if it is short: a file would cost more than its rows. */
export async function startBody(body: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<StartedBody> {
  const iterator = eachOf(body);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  while (bytes <= MAX_SHORT_BYTES) {
    const next = await orAborted(iterator.next(), signal).catch((error: unknown) => {
      // Not awaited: the body may wait for bytes that never arrive.
      iterator.return().catch(() => undefined);
      throw error;
    });
    if (next.done === true) return { isShort: true, bytes: Buffer.concat(chunks) };
    chunks.push(next.value);
    bytes += next.value.length;
  }
  return { isShort: false, body: prepend(chunks, iterator) };
}

async function* eachOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  yield* body;
}
