import { ENCODINGS } from '@svc/frames';
import { createYield } from '@svc/frames/internal';
import type { EndpointResponse } from './endpoint-response.ts';

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
