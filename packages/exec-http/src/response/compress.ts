import { Readable, pipeline } from 'node:stream';
import { promisify } from 'node:util';
import { constants, createGzip, gzip } from 'node:zlib';

const OPTIONS = { level: constants.Z_BEST_SPEED, chunkSize: 256 * 1024 };

/** Shorter bodies are not worth compressing. */
const COMPRESSED_FROM_BYTES = 1024;

/** Returns true to compress a body of this length for a client with this `Accept-Encoding` header. */
export function isWorthGzip(byteLength: number, header: string | undefined): boolean {
  return byteLength >= COMPRESSED_FROM_BYTES && acceptsGzip(header);
}

/** Returns true if an `Accept-Encoding` header allows gzip. */
export function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined) return false;
  const wanted = header.split(',').map((part) => {
    const [name = '', ...params] = part.split(';').map((text) => text.trim().toLowerCase());
    return { name, isRefused: params.some((param) => /^q=0(\.0*)?$/.test(param)) };
  });
  const choice = wanted.find(({ name }) => name === 'gzip') ?? wanted.find(({ name }) => name === '*');
  return choice !== undefined && !choice.isRefused;
}

/** Compresses a complete body. */
export const compressBytes = promisify<Uint8Array, Uint8Array>((bytes, done) => gzip(bytes, OPTIONS, done));

/** Compresses a stream of chunks, each valid until the next `next()`. */
export function compressChunks(chunks: AsyncIterator<Uint8Array, void>): AsyncIterator<Uint8Array> {
  const compressor = createGzip(OPTIONS);
  // The reader of the compressor gets every error, so the callback has nothing to do.
  pipeline(Readable.from(copiesOf(chunks), { objectMode: false }), compressor, () => {});
  return compressor[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
}

/**
 * Copies chunks, because a stream reads the next chunk before it is done with the last. Not a generator: if that is
 * closed before it starts, it does not close its source.
 */
function copiesOf(chunks: AsyncIterator<Uint8Array, void>): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        const result = await chunks.next();
        return result.done === true ? result : { done: false, value: new Uint8Array(result.value) };
      },
      return: async () => (await chunks.return?.()) ?? { done: true, value: undefined },
    }),
  };
}
