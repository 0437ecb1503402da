import { readSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import type { CheckedRange, UncheckedRange } from '../../wire/file-checks.ts';

/** The read buffer: large enough for few calls, small enough that the checksum finds it in the CPU cache. */
const readBuffer = Buffer.allocUnsafeSlow(256 * 1024);
/** How many bytes are read before the event loop runs other work. */
const YIELD_BYTES = 1024 * 1024;

/**
 * Reads adjacent ranges of a file and computes the checksum of each. Reads synchronously: handing each chunk over from
 * another thread took longer than reading it.
 */
export async function readChecksums(file: number, ranges: readonly UncheckedRange[]): Promise<CheckedRange[]> {
  const found: CheckedRange[] = [];
  const end = ranges.at(-1)?.end ?? 0;
  let crc = 0;
  let bytesSinceYield = 0;
  for (let at = ranges[0]?.start ?? 0; at < end;) {
    const bytes = readBuffer.subarray(0, readSome(file, readBuffer, at, end - at));
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
    bytesSinceYield += bytes.length;
    if (bytesSinceYield < YIELD_BYTES) continue;
    bytesSinceYield = 0;
    await setImmediate();
  }
  return found;
}

/** A file is shorter than its metadata says. */
export class ShortFileError extends Error {}

/** Fills a buffer from a position in a file. */
export function readFully(file: number, buffer: Buffer, position: number): Buffer {
  for (let at = 0; at < buffer.length;) at += readSome(file, buffer.subarray(at), position + at);
  return buffer;
}

/** Reads at least one byte; returns how many. */
export function readSome(file: number, buffer: Buffer, position: number, maxBytes = Infinity): number {
  const bytesRead = readSync(file, buffer, 0, Math.min(buffer.length, maxBytes), position);
  if (bytesRead === 0) throw new ShortFileError('The file is truncated.');
  return bytesRead;
}
