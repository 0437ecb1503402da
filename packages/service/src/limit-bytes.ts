import { ServiceError } from '@svc/errors';
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

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError('payload_too_large', `The upload is longer than ${maxBytes} bytes.`);
}
