import { readSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import type { CheckedRange, UncheckedRange } from '../../wire/file-checks.ts';

/** So much is read at a time: few calls, and it is summed up before it leaves the cache. */
const piece = Buffer.allocUnsafeSlow(256 * 1024);
/** After so much others have their turn. */
const TURN_BYTES = 1024 * 1024;

/**
 * Reads ranges that follow each other in a file, and sums each up. The bytes are read in this thread: to hand each piece
 * over from another one took longer than to read it.
 */
export async function readChecksums(file: number, ranges: readonly UncheckedRange[]): Promise<CheckedRange[]> {
  const found: CheckedRange[] = [];
  const end = ranges.at(-1)?.end ?? 0;
  let crc = 0;
  let turnBytes = 0;
  for (let at = ranges[0]?.start ?? 0; at < end;) {
    const bytes = piece.subarray(0, readSome(file, piece, at, end - at));
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
    turnBytes += bytes.length;
    if (turnBytes < TURN_BYTES) continue;
    turnBytes = 0;
    await setImmediate();
  }
  return found;
}

/** A file that has fewer bytes than it says. */
export class ShortFileError extends Error {}

/** Fills a buffer from a place in a file. */
export function readFully(file: number, buffer: Buffer, position: number): Buffer {
  for (let at = 0; at < buffer.length;) at += readSome(file, buffer.subarray(at), position + at);
  return buffer;
}

function readSome(file: number, buffer: Buffer, position: number, maxBytes = Infinity): number {
  const bytesRead = readSync(file, buffer, 0, Math.min(buffer.length, maxBytes), position);
  if (bytesRead === 0) throw new ShortFileError('The file ends too soon.');
  return bytesRead;
}
