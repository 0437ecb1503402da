import { ServiceError } from '@svc/errors';
import type { FrameStream } from '@svc/frames';
import type { Upload } from './service.ts';

/** The body of an upload, which fails with `payload_too_large` as soon as it is longer than the limit. */
export function limitBytes({ body, bytes = 0 }: Upload, maxBytes: number): AsyncIterable<Uint8Array> {
  if (bytes > maxBytes) throw tooLarge(maxBytes);
  return (async function* () {
    let left = maxBytes;
    for await (const chunk of body) {
      left -= chunk.byteLength;
      if (left < 0) throw tooLarge(maxBytes);
      yield chunk;
    }
  })();
}

/** Rows that are to be kept, which fail with `payload_too_large` as soon as they take more than the limit. */
export function limitRows({ schema, batches }: FrameStream, maxBytes: number): FrameStream {
  async function* limited(): FrameStream['batches'] {
    let left = maxBytes;
    for await (const batch of batches) {
      left -= batch.data.byteLength;
      if (left < 0) throw tooLarge(maxBytes, 'The answer');
      yield batch;
    }
  }
  return { schema, batches: limited() };
}

function tooLarge(maxBytes: number, what = 'The upload'): ServiceError {
  return new ServiceError('payload_too_large', `${what} is longer than ${maxBytes} bytes.`);
}
