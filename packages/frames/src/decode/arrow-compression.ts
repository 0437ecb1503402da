import { ServiceError } from '@svc/errors';
import { decompress as decompressZstd } from 'fzstd';
import * as zlib from 'node:zlib';
import type { ByteBudget } from '../byte-budget.ts';
import { allocate } from './limits.ts';
import { decompressLz4Frame } from './lz4-frame.ts';

/** How the buffers of an Arrow batch are compressed. */
export type Compression = 'lz4' | 'zstd';

/** Decompresses one buffer of an Arrow batch: its size in 8 bytes (-1: it is not compressed), then its content. */
export function decompressBuffer(source: Uint8Array<ArrayBuffer>, compression: Compression, budget: ByteBudget) {
  if (source.length === 0) return source;
  if (source.length < 8) throw malformed(compression);
  const size = Number(new DataView(source.buffer, source.byteOffset).getBigInt64(0, true));
  const content = source.subarray(8);
  const bytes = size === -1 ? content.length : size;
  if (!(bytes >= 0)) throw malformed(compression);
  budget.take(bytes);
  const target = allocate(bytes);
  try {
    if (size === -1) target.set(content);
    else if (compression === 'lz4') decompressLz4Frame(content, target);
    else decompressZstdFrame(content, target);
  } catch (error) {
    throw malformed(compression, error);
  }
  return target;
}

/** The decompressor of Node 22.15 and newer, which is faster; undefined in older ones. */
const nativeZstd: unknown = Reflect.get(zlib, 'zstdDecompressSync');

function isZstd(
  value: unknown,
): value is (source: Uint8Array, options: { readonly maxOutputLength: number }) => Uint8Array {
  return typeof value === 'function';
}

/** The size of the target bounds what a small body can blow itself up to. */
function decompressZstdFrame(source: Uint8Array, target: Uint8Array): void {
  const size = zstdContentSize(source) ?? target.length;
  if (size !== target.length) throw new RangeError('The size of the content is not as announced.');
  if (!isZstd(nativeZstd)) {
    // It compares its target with a number, for which every byte of that would be written out as text.
    decompressZstd(source, Object.assign(target.subarray(), { [Symbol.toPrimitive]: () => 0 }));
    return;
  }
  const content = nativeZstd(source, { maxOutputLength: Math.max(1, target.length) });
  if (content.length !== target.length) throw new RangeError('The content is shorter than announced.');
  target.set(content);
}

/** The size of the content by the head of a zstd frame; undefined where the head does not say. */
function zstdContentSize(source: Uint8Array): number | undefined {
  const view = new DataView(source.buffer, source.byteOffset, source.byteLength);
  if (view.getUint32(0, true) !== 0xfd2fb528) throw new RangeError('This is not a zstd frame.');
  const descriptor = view.getUint8(4);
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const at = 5 + (isSingleSegment ? 0 : 1) + [0, 1, 2, 4][descriptor & 3];
  switch (descriptor >> 6) {
    case 0:
      return isSingleSegment ? view.getUint8(at) : undefined;
    case 1:
      return view.getUint16(at, true) + 256;
    case 2:
      return view.getUint32(at, true);
    default:
      return Number(view.getBigUint64(at, true));
  }
}

function malformed(compression: Compression, cause?: unknown): ServiceError {
  return new ServiceError('invalid_data', `A buffer that is compressed with ${compression} cannot be decompressed.`, {
    hint: 'Check that the body is whole, or write it uncompressed.',
    cause,
  });
}
