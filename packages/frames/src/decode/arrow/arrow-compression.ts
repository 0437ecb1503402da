import { ServiceError } from '@svc/errors';
import type { ByteBudget } from '../../byte-budget.ts';
import { allocateCounted } from '../limits.ts';
import { decompressLz4Frame } from './lz4-frame.ts';
import { decompressZstdFrame } from './zstd-frame.ts';

/** The compression of the buffers of an Arrow batch. */
export type Compression = 'lz4' | 'zstd';

/** The maximum expansion per byte: an LZ4 match, or a ZSTD run in a separate block. */
const MAX_RATIOS: Readonly<Record<Compression, number>> = { lz4: 255, zstd: (1 << 17) / 4 };

/** Decompresses one buffer of an Arrow batch: its size in 8 bytes (-1: not compressed), then its content. */
export function decompressBuffer(source: Uint8Array<ArrayBuffer>, compression: Compression, budget: ByteBudget) {
  if (source.length === 0) return source;
  if (source.length < 8) throw malformed(compression);
  const size = Number(new DataView(source.buffer, source.byteOffset).getBigInt64(0, true));
  const content = source.subarray(8);
  const bytes = size === -1 ? content.length : size;
  if (!(bytes >= 0 && bytes <= content.length * MAX_RATIOS[compression])) throw malformed(compression);
  const target = allocateCounted(budget, bytes);
  try {
    if (size === -1) target.set(content);
    else if (compression === 'lz4') decompressLz4Frame(content, target);
    else decompressZstdFrame(content, target, budget);
  } catch (error) {
    throw error instanceof ServiceError ? error : malformed(compression, error);
  }
  return target;
}

function malformed(compression: Compression, cause?: unknown): ServiceError {
  return new ServiceError('invalid_data', `A buffer compressed with ${compression} cannot be decompressed.`, {
    hint: 'Check that the body is complete, or write it uncompressed.',
    cause,
  });
}
