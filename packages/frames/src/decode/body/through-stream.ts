import { ServiceError } from '@svc/errors';
import type { Transform } from 'node:stream';
import type { ContentCoding } from '../../content-coding.ts';

/**
 * Passes chunks through a decompressor of Node. One chunk is in flight, so that nothing is read before it is needed. The
 * stream may end before the chunks do.
 */
export async function* throughStream(
  stream: Transform,
  chunks: AsyncGenerator<Uint8Array, void>,
  coding: ContentCoding,
): AsyncGenerator<Uint8Array, void> {
  let failure: { readonly error: unknown } | undefined;
  const ended = new Promise<void>((resolve) => {
    stream.once('end', resolve).once('close', resolve);
  });
  async function feed(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await chunks.next();
        if (done === true) break;
        const written = new Promise<void>((resolve) => {
          stream.write(value, () => resolve());
        });
        await Promise.race([written, ended]);
        if (stream.readableEnded || stream.destroyed) return;
      }
      stream.end();
    } catch (error) {
      failure = { error };
      stream.destroy();
    }
  }
  const feeding = feed();
  try {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) yield chunk;
    await feeding;
  } catch (error) {
    throw failure ? failure.error : brokenData(coding, error);
  } finally {
    stream.destroy();
  }
}

/** Returns the error of compressed bytes that cannot be read. */
export function brokenData(coding: ContentCoding, cause: unknown): ServiceError {
  const isShort = cause instanceof Error && /unexpected end/i.test(cause.message);
  const what = isShort ? 'ends too early' : `is corrupt${cause instanceof Error ? `: ${cause.message}` : ''}`;
  return new ServiceError('invalid_data', `The ${coding} data in the body ${what}.`, {
    hint: `Check the file with ${coding} --test, and send all of it.`,
    cause,
  });
}
