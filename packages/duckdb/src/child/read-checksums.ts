import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { CheckedRange, UncheckedRange } from './file-checks.ts';

/** So much is read at a time: long enough to be few calls, short enough to be summed up before it leaves the cache. */
const PIECE_BYTES = 256 * 1024;

/** Reads ranges that follow each other in a file, and sums each up. */
export async function readChecksums(file: FileHandle, ranges: readonly UncheckedRange[]): Promise<CheckedRange[]> {
  const found: CheckedRange[] = [];
  const end = ranges.at(-1)?.end ?? 0;
  let at = ranges[0]?.start ?? 0;
  let crc = 0;
  const pieces = [0, 1].map(() => Buffer.allocUnsafe(Math.min(PIECE_BYTES, end - at)));
  const piece = (start: number, turn: number): Promise<Buffer> =>
    readFully(file, (pieces[turn % 2] ?? Buffer.alloc(0)).subarray(0, Math.max(0, end - start)), start);
  let next = piece(at, 0);
  for (let turn = 1; at < end; turn++) {
    const bytes = await next;
    // The next piece is read while this one is summed up.
    next = piece(at + bytes.length, turn);
    next.catch(() => undefined);
    for (let taken = 0; taken < bytes.length;) {
      const range = ranges[found.length];
      if (range === undefined) break;
      const length = Math.min(bytes.length - taken, range.end - at - taken);
      crc = crc32(bytes.subarray(taken, taken + length), crc);
      taken += length;
      if (at + taken < range.end) continue;
      found.push({ ...range, crc });
      crc = 0;
    }
    at += bytes.length;
  }
  await next;
  return found;
}

/** A file that has fewer bytes than it had a moment ago. */
export class ShortFileError extends Error {}

/** Fills a buffer from a place in a file. */
export async function readFully(file: FileHandle, buffer: Buffer, position: number): Promise<Buffer> {
  for (let at = 0; at < buffer.length;) {
    const { bytesRead } = await file.read(buffer, at, buffer.length - at, position + at);
    if (bytesRead === 0) throw new ShortFileError('The file ends too soon.');
    at += bytesRead;
  }
  return buffer;
}
