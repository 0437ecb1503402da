import { Decompress } from 'fzstd';
import type { Transform } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import * as zlib from 'node:zlib';
import xxhash from 'xxhash-wasm';
import { brokenData, throughStream } from './through-stream.ts';
import { type ZstdUnit, zstdUnits } from './zstd-units.ts';

/** The decompressor of Node 22.15 and newer, which works outside the main thread; undefined in older versions. */
const createNative: unknown = Reflect.get(zlib, 'createZstdDecompress');

/** Decompresses the frames of a body. */
export async function* decompressZstd(body: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
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
