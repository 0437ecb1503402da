import { ServiceError } from '@svc/errors';
import type { FrameStream } from '@svc/frames';
import { limitBytes } from '@svc/frames/internal';
import type { Upload } from './service.ts';

/**
 * Limits the body of an upload: reading more than `maxBytes` throws `payload_too_large`. `onEnd` is called when it was read to
 * its end.
 */
export function limitUpload(
  { body, bytes = 0 }: Upload,
  maxBytes: number,
  onEnd?: () => void,
): AsyncIterable<Uint8Array> {
  if (bytes > maxBytes) throw tooLarge(maxBytes, 'The upload');
  return limitBytes(body, maxBytes, undefined, onEnd);
}

/** Limits the rows of a stream: reading more than `maxBytes` throws `payload_too_large`. `check` gets the bytes so far. */
export function limitRows(
  { schema, batches }: FrameStream,
  maxBytes: number,
  check: (bytes: number) => void = () => {},
): FrameStream {
  async function* limited(): FrameStream['batches'] {
    let bytes = 0;
    for await (const batch of batches) {
      bytes += batch.data.byteLength;
      check(bytes);
      if (bytes > maxBytes) throw tooLarge(maxBytes, 'The query result');
      yield batch;
    }
  }
  return { schema, batches: limited() };
}

function tooLarge(maxBytes: number, what: string): ServiceError {
  return new ServiceError('payload_too_large', `${what} is longer than ${maxBytes} bytes.`);
}
