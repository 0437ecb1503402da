import { decompress } from 'fzstd';
import * as zlib from 'node:zlib';
import type { ByteBudget } from '../../byte-budget.ts';
import { allocateCounted } from '../limits.ts';

/** The decompressor of Node 22.15 and newer, which is faster; undefined in older ones. */
const nativeZstd: unknown = Reflect.get(zlib, 'zstdDecompressSync');

function isZstd(
  value: unknown,
): value is (source: Uint8Array, options: Readonly<Record<'maxOutputLength' | 'chunkSize', number>>) => Uint8Array {
  return typeof value === 'function';
}

/** Decompresses a zstd frame into a target of exactly its size, which bounds what a small body can blow itself up to. */
export function decompressZstdFrame(source: Uint8Array, target: Uint8Array, budget: ByteBudget): void {
  const head = readHead(source);
  if ((head.contentSize ?? target.length) !== target.length) throw new RangeError('The content has another size.');
  if (isZstd(nativeZstd)) {
    // In one chunk: there is one buffer of it beside the target then, of a size that is known.
    const chunkSize = Math.max(64, target.length + 1);
    budget.take(chunkSize);
    const content = nativeZstd(source, { maxOutputLength: Math.max(1, target.length), chunkSize });
    if (content.length !== target.length) throw new RangeError('The content is shorter than announced.');
    target.set(content);
    budget.free(chunkSize);
  } else decompressPortably(source, head.bytes, target, budget);
}

/** A block that is empty and the last. */
const LAST_BLOCK = [1, 0, 0];

/**
 * The portable decompressor does not say how much of its target it filled. So an empty block is put behind the last one:
 * the place that it is written to is the end of the content.
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
      // It compares its target with a number, for which every byte of that would be written out as text.
      [Symbol.toPrimitive]: () => 0,
      set(block: Uint8Array, at: number) {
        target.set(block, at);
        end = at;
      },
    }),
  );
  if (end !== target.length) throw new RangeError('The content is shorter or longer than announced.');
  budget.free(frame.length);
}

/** Where the last block of a frame is. Nothing but a checksum may follow it. */
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

/** The head of a zstd frame: how many bytes it has, and the size of the content, where it says that. */
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
