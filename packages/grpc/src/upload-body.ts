import { ServiceError } from '@svc/errors';
import type { PutFrameRequest } from '@svc/proto';
import { chunkFrom } from './frame-messages.ts';

/**
 * Yields the data of an upload. Holds back the last chunk until the client half-closes the call, so that the data does not
 * look complete before. Many clients also half-close a call when they cancel it: data without an Arrow end marker is
 * refused.
 */
export async function* uploadBody(
  messages: AsyncIterator<PutFrameRequest>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let held: Uint8Array = new Uint8Array(0);
  let tail: Buffer = Buffer.alloc(0);
  for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
    const chunk = chunkFrom(next.value);
    if (chunk.length === 0) continue;
    if (held.length > 0) yield held;
    held = chunk;
    tail = Buffer.concat([tail, chunk.subarray(-END_OF_STREAM.length)]).subarray(-END_OF_STREAM.length);
  }
  if (held.length > 0) yield held;
  if (!tail.equals(END_OF_STREAM) && !tail.subarray(-END_OF_FILE.length).equals(END_OF_FILE)) {
    throw new ServiceError('invalid_data', "The upload stops without Arrow's end-of-stream marker.", {
      hint: 'Close the Arrow writer, and send everything that it wrote.',
    });
  }
}

const END_OF_STREAM = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
const END_OF_FILE = Buffer.from('ARROW1');
