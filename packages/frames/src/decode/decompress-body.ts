import * as zlib from 'node:zlib';
import xxhash from 'xxhash-wasm';
import type { Transform } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { ServiceError } from '@svc/errors';
import { Decompress } from 'fzstd';
import type { ContentCoding } from '../encoding.ts';
import { limitBytes } from '../streams.ts';

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

/**
 * Passes chunks through a decompressor of Node. One chunk is in flight, so nothing is read before it is needed. The
 * stream may end before the chunks do.
 */
async function* throughStream(
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
function brokenData(coding: ContentCoding, cause: unknown): ServiceError {
  const isShort = cause instanceof Error && /unexpected end/i.test(cause.message);
  const what = isShort ? 'ends too early' : `is corrupt${cause instanceof Error ? `: ${cause.message}` : ''}`;
  return new ServiceError('invalid_data', `The ${coding} data in the body ${what}.`, {
    hint: `Check the file with ${coding} --test, and send all of it.`,
    cause,
  });
}

/** The decompressor of Node 22.15 and newer, which works outside the main thread; undefined in older versions. */
const createNative: unknown = Reflect.get(zlib, 'createZstdDecompress');

/** Decompresses the frames of a body. */
async function* decompressZstd(body: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
  let failure: { readonly error: unknown } | undefined;
  // An error of the body itself, for example of a client that disconnects, must stay as it is.
  async function* received(): AsyncGenerator<Uint8Array, void> {
    try {
      yield* body;
    } catch (error) {
      failure = { error };
      throw error;
    }
  }
  try {
    const units = zstdUnits(received());
    yield* isNative(createNative) ? throughNative(createNative(), units) : decompressPortably(units);
  } catch (error) {
    throw failure ? failure.error : brokenData('zstd', error);
  }
}

function isNative(value: unknown): value is () => Transform {
  return typeof value === 'function';
}

/** The decompressor gets every unit in a separate write, because it drops what follows a frame in the same one. */
async function* throughNative(stream: Transform, units: AsyncGenerator<ZstdUnit, void>) {
  async function* bytes(): AsyncGenerator<Uint8Array, void> {
    for await (const unit of units) yield unit.bytes;
  }
  yield* throughStream(stream, bytes(), 'zstd');
}

let hash: ReturnType<typeof xxhash> | undefined;

/**
 * Decompresses on the main thread, one block of at most 128 KiB at a time; other requests run in between. The decompressor
 * does not verify checksums, so this does.
 */
export async function* decompressPortably(units: AsyncIterable<ZstdUnit>): AsyncGenerator<Uint8Array, void> {
  const hashes = await (hash ??= xxhash());
  let frame = hashes.create64();
  let content: Uint8Array[] = [];
  let decompressor = new Decompress();
  for await (const { kind, bytes, isLast } of units) {
    if (kind === 'header') {
      frame = hashes.create64();
      decompressor = new Decompress((block) => content.push(block));
      // Without the flag of a checksum: the decompressor would wait for it.
      bytes[4] &= ~4;
    }
    if (kind === 'checksum') {
      const wanted = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
      if (Number(frame.digest() & 0xffffffffn) !== wanted) throw new Error('the checksum does not match');
      continue;
    }
    content = [];
    decompressor.push(bytes, isLast);
    for (const block of content) {
      frame.update(block);
      yield block;
    }
    await setImmediate();
  }
}

/** A piece of a zstd frame: its header, a block, or the checksum of its content. */
interface ZstdUnit {
  readonly kind: 'header' | 'block' | 'checksum';
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** True if the frame ends here, except for a checksum. */
  readonly isLast: boolean;
}

const FRAME_MAGIC = 0xfd2fb528;
/** The last four bits can have any value. */
const SKIPPABLE_MAGIC = 0x184d2a50;
const MAX_BLOCK_BYTES = 1 << 17;
/** RFC 9659 limits the window of the content coding to 8 MiB. A decoder needs that much memory. */
const MAX_WINDOW_BYTES = 1 << 23;
const CHECKSUM_BYTES = 4;
/** A compressor adds one to each frame of some MiB, or one at the end. */
const MAX_SKIPPABLE_FRAMES = 100_000;
/** Skipping one takes some microseconds. */
const SKIPPABLE_FRAMES_AT_ONCE = 500;

/**
 * Splits zstd frames into their pieces. Node's decompressor stops at the end of a frame and ignores the rest of its
 * chunk, and the portable one does not limit the window. Skippable frames are dropped. Throws an `Error` if the bytes end
 * within a frame, or are not zstd.
 */
export async function* zstdUnits(body: AsyncGenerator<Uint8Array, void>): AsyncGenerator<ZstdUnit, void> {
  const input = createByteReader(body);
  let skipped = 0;
  while (await input.hasMore()) {
    const magic = await input.take(4);
    const word = view(magic).getUint32(0, true);
    if ((word & ~15) >>> 0 === SKIPPABLE_MAGIC) {
      skipped += 1;
      if (skipped > MAX_SKIPPABLE_FRAMES)
        throw new Error(`there are more than ${MAX_SKIPPABLE_FRAMES} skippable frames`);
      // The bytes may all be there: other requests run in between.
      if (skipped % SKIPPABLE_FRAMES_AT_ONCE === 0) await setImmediate();
      await input.skip(view(await input.take(4)).getUint32(0, true));
      continue;
    }
    if (word !== FRAME_MAGIC) throw new Error('there is no zstd frame where one should begin');
    const descriptor = await input.take(1);
    const rest = await input.take(headerBytes(descriptor[0]));
    checkWindow(descriptor[0], rest);
    yield { kind: 'header', bytes: joined([magic, descriptor, rest]), isLast: false };
    yield* blocks(input);
    if ((descriptor[0] & 4) !== 0) yield { kind: 'checksum', bytes: await input.take(CHECKSUM_BYTES), isLast: true };
  }
}

async function* blocks(input: ByteReader): AsyncGenerator<ZstdUnit, void> {
  for (let isLast = false; !isLast;) {
    const head = await input.take(3);
    const word = head[0] | (head[1] << 8) | (head[2] << 16);
    const isRun = ((word >> 1) & 3) === 1;
    const bytes = isRun ? 1 : word >> 3;
    if (word >> 3 > MAX_BLOCK_BYTES) throw new Error('a block is too long');
    isLast = (word & 1) !== 0;
    yield { kind: 'block', bytes: joined([head, await input.take(bytes)]), isLast };
  }
}

const DICTIONARY_ID_BYTES = [0, 1, 2, 4];

/** Returns the length of the header after its descriptor. */
function headerBytes(descriptor: number): number {
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6];
  return (isSingleSegment ? 0 : 1) + DICTIONARY_ID_BYTES[descriptor & 3] + sizeBytes;
}

function checkWindow(descriptor: number, rest: Uint8Array<ArrayBuffer>): void {
  if ((descriptor & 8) !== 0) throw new Error('a reserved bit is set');
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const dictionaryBytes = DICTIONARY_ID_BYTES[descriptor & 3];
  const dictionary = rest.subarray(isSingleSegment ? 0 : 1).subarray(0, dictionaryBytes);
  if (dictionary.some((byte) => byte !== 0)) throw new Error('the data needs a dictionary');
  const bytes = isSingleSegment ? contentBytes(rest.slice(dictionaryBytes)) : windowBytes(rest[0]);
  if (bytes <= MAX_WINDOW_BYTES) return;
  throw new Error(
    `the data needs a window of ${bytes} bytes, and at most ${MAX_WINDOW_BYTES} are allowed; compress it without --long and --ultra`,
  );
}

function windowBytes(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

function contentBytes(size: Uint8Array<ArrayBuffer>): number {
  const data = view(size);
  if (size.length === 1) return data.getUint8(0);
  if (size.length === 2) return data.getUint16(0, true) + 256;
  return size.length === 4 ? data.getUint32(0, true) : Number(data.getBigUint64(0, true));
}

type ByteReader = ReturnType<typeof createByteReader>;

function createByteReader(body: AsyncGenerator<Uint8Array, void>) {
  let chunk: Uint8Array = new Uint8Array(0);

  async function hasMore(): Promise<boolean> {
    while (chunk.length === 0) {
      const { done, value } = await body.next();
      if (done === true) return false;
      chunk = value;
    }
    return true;
  }
  async function* parts(count: number): AsyncGenerator<Uint8Array, void> {
    for (let left = count; left > 0;) {
      if (!(await hasMore())) throw new Error('unexpected end');
      const part = chunk.subarray(0, left);
      chunk = chunk.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }
  return {
    hasMore,
    /** Returns the next bytes, at most a block. */
    async take(count: number): Promise<Uint8Array<ArrayBuffer>> {
      // Most often the bytes are within one chunk.
      if (chunk.length >= count) {
        const bytes = chunk.slice(0, count);
        chunk = chunk.subarray(count);
        return bytes;
      }
      const found: Uint8Array[] = [];
      for await (const part of parts(count)) found.push(part);
      return joined(found);
    },
    async skip(count: number): Promise<void> {
      for await (const _ of parts(count));
    },
  };
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function view({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
