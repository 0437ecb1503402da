import { decompress } from 'fzstd';
import * as zlib from 'node:zlib';
import type { ByteBudget } from '../../byte-budget.ts';
import { allocateCounted } from '../limits.ts';

/** The decompressor of Node 22.15 and newer, which is faster; undefined in older versions. */
const nativeZstd: unknown = Reflect.get(zlib, 'zstdDecompressSync');

function isZstd(
  value: unknown,
): value is (source: Uint8Array, options: Readonly<Record<'maxOutputLength' | 'chunkSize', number>>) => Uint8Array {
  return typeof value === 'function';
}

/** Decompresses a zstd frame into a target of exactly its size, which bounds the expansion of a small body. */
export function decompressZstdFrame(source: Uint8Array, target: Uint8Array, budget: ByteBudget): void {
  const head = readHead(source);
  if ((head.contentSize ?? target.length) !== target.length) throw new RangeError('The content size does not match.');
  if (isZstd(nativeZstd)) {
    // In one chunk: the only other buffer then has a known size.
    const chunkSize = Math.max(64, target.length + 1);
    budget.take(chunkSize);
    const content = nativeZstd(source, { maxOutputLength: Math.max(1, target.length), chunkSize });
    if (content.length !== target.length) throw new RangeError('The content is shorter than declared.');
    target.set(content);
    budget.free(chunkSize);
  } else decompressPortably(source, head.bytes, target, budget);
}

/** An empty last block. */
const LAST_BLOCK = [1, 0, 0];

/**
 * The portable decompressor does not report how much of its target it filled. So append an empty block: the offset at
 * which it is written is the end of the content.
 */
function decompressPortably(source: Uint8Array, headBytes: number, target: Uint8Array, budget: ByteBudget): void {
  const last = findLastBlock(source, headBytes);
  const frame = allocateCounted(budget, last.end + LAST_BLOCK.length);
  frame.set(source.subarray(0, last.end));
  frame[last.start] &= ~1;
  frame.set(LAST_BLOCK, last.end);
  let end = -1;
  decompress(
    frame,
    Object.assign(target.subarray(), {
      // The decompressor compares its target with a number, which would convert every byte to text.
      [Symbol.toPrimitive]: () => 0,
      set(block: Uint8Array, at: number) {
        target.set(block, at);
        end = at;
      },
    }),
  );
  if (end !== target.length) throw new RangeError('The content is shorter or longer than declared.');
  budget.free(frame.length);
}

/** Finds the last block of a frame. Only a checksum may follow it. */
function findLastBlock(source: Uint8Array, headBytes: number): { readonly start: number; readonly end: number } {
  const checksumBytes = (source[4] & 4) === 0 ? 0 : 4;
  for (let start = headBytes; start + 3 <= source.length;) {
    const word = source[start] | (source[start + 1] << 8) | (source[start + 2] << 16);
    const isRun = ((word >> 1) & 3) === 1;
    const end = start + 3 + (isRun ? 1 : word >> 3);
    if ((word & 1) !== 0 && end + checksumBytes === source.length) return { start, end };
    if ((word & 1) !== 0) break;
    start = end;
  }
  throw new RangeError('The frame does not end with its last block.');
}

/** Reads the header of a zstd frame: its length in bytes, and the content size if it has one. */
function readHead(source: Uint8Array): { readonly bytes: number; readonly contentSize: number | undefined } {
  const view = new DataView(source.buffer, source.byteOffset, source.byteLength);
  if (view.getUint32(0, true) !== 0xfd2fb528) throw new RangeError('This is not a zstd frame.');
  const descriptor = view.getUint8(4);
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const at = 5 + (isSingleSegment ? 0 : 1) + [0, 1, 2, 4][descriptor & 3];
  switch (descriptor >> 6) {
    case 0:
      return isSingleSegment
        ? { bytes: at + 1, contentSize: view.getUint8(at) }
        : { bytes: at, contentSize: undefined };
    case 1:
      return { bytes: at + 2, contentSize: view.getUint16(at, true) + 256 };
    case 2:
      return { bytes: at + 4, contentSize: view.getUint32(at, true) };
    default:
      return { bytes: at + 8, contentSize: Number(view.getBigUint64(at, true)) };
  }
}
