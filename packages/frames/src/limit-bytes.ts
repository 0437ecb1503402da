import { ServiceError } from '@svc/errors';

/**
 * Limits a body: more than `maxBytes` is `payload_too_large`. `what` begins the sentence of the error. `onEnd` is called when
 * the body was read to its end.
 */
export async function* limitBytes(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  what = 'The upload is longer than',
  onEnd?: () => void,
): AsyncGenerator<Uint8Array, void> {
  let left = maxBytes;
  for await (const chunk of body) {
    left -= chunk.byteLength;
    if (left < 0) throw new ServiceError('payload_too_large', `${what} ${maxBytes} bytes.`);
    yield chunk;
  }
  onEnd?.();
}
