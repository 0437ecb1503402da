import { ServiceError } from '@svc/errors';
import { createGunzip } from 'node:zlib';
import { limitBytes } from '../../limit-bytes.ts';
import type { ContentCoding } from '../../content-coding.ts';
import { throughStream } from './through-stream.ts';
import { decompressZstd } from './zstd-body.ts';

/** Options of `decompressBody`. */
export interface DecompressOptions {
  /** The limit of the body, both compressed and decompressed; more is `payload_too_large`. Default: no limit. */
  readonly maxBytes?: number;
}

/**
 * Decompresses a body while it arrives, no faster than it is read. Bytes that are corrupt, or end too early, are
 * `invalid_data`. Concatenated gzip members or zstd frames are one body. Only zero bytes may follow the last gzip member:
 * tape blocks are padded with them.
 */
export async function* decompressBody(
  body: AsyncIterable<Uint8Array>,
  coding: ContentCoding,
  { maxBytes = Infinity }: DecompressOptions = {},
): AsyncGenerator<Uint8Array, void> {
  const received = limitBytes(body, maxBytes, 'The compressed upload is longer than');
  const content = coding === 'gzip' ? decompressGzip(received) : decompressZstd(received);
  try {
    yield* limitBytes(content, maxBytes, 'The upload decompresses to more than');
  } finally {
    // Do not wait: a read may be pending until the client sends more.
    received.return().catch(() => {});
  }
}

/** Smaller chunks would cost more calls of the consumer. */
const CHUNK_BYTES = 1 << 17;

async function* decompressGzip(body: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  const source = countBytes(body);
  yield* throughStream(gunzip, source.chunks, 'gzip');
  // Node stops at a zero byte after a member, and ignores all that follows.
  const unread = source.bytes() - gunzip.bytesWritten;
  if (unread > 0) await checkPadding(source.last().subarray(-unread), body);
}

function countBytes(chunks: AsyncGenerator<Uint8Array, void>): {
  readonly chunks: AsyncGenerator<Uint8Array, void>;
  bytes(): number;
  last(): Uint8Array;
} {
  let bytes = 0;
  let last: Uint8Array = new Uint8Array(0);
  async function* counted(): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      // Not a loop over the chunks: those that are left are checked later.
      const { done, value } = await chunks.next();
      if (done === true) return;
      bytes += value.byteLength;
      last = value;
      yield value;
    }
  }
  return { chunks: counted(), bytes: () => bytes, last: () => last };
}

async function checkPadding(first: Uint8Array, rest: AsyncIterable<Uint8Array>): Promise<void> {
  const check = (bytes: Uint8Array): void => {
    if (bytes.every((byte) => byte === 0)) return;
    throw new ServiceError('invalid_data', 'Other bytes follow the gzip data in the body.', {
      hint: 'Send only gzip data; several gzip files in a row are read as one.',
    });
  };
  check(first);
  for await (const chunk of rest) check(chunk);
}
