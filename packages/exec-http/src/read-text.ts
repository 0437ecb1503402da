import { ServiceError } from '@svc/errors';

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
