import { type FileHandle, open } from 'node:fs/promises';
import { readSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import {
  type CheckedRange,
  CHECKS_KEY,
  CHECKS_TAIL_BYTES,
  decodeChecks,
  encodeChecks,
  type FileChecks,
  PARQUET_TAIL_BYTES,
  parseParquetTail,
  rangesOf,
  readTail,
  type UncheckedRange,
} from '../../wire/file-layout.ts';
import { layoutOf } from './parquet-layout.ts';
import { NOTE_PLACEHOLDER, noteText } from '../../wire/requests.ts';

/**
 * Fills in the numbers in the metadata of a Parquet file (unknown when it was started), adds checksums of all its
 * bytes, and flushes it to disk. Returns the size of the file.
 */
export async function finishFile(path: string, notes: Readonly<Record<string, number>>): Promise<number> {
  const file = await open(path, 'r+');
  try {
    const { size } = await file.stat();
    const { footer, at } = readFooter(file.fd, size);
    writeNotes(footer, notes);
    const layout = layoutOf(footer);
    const ranges = await readChecksums(file.fd, rangesOf(layout, at));
    const checks = encodeChecks({ ranges, groupRows: layout.groupRows }, footer);
    await writeFully(file, checks, at);
    await writeFully(file, footer, at + checks.length);
    await file.sync();
    return size + checks.length;
  } finally {
    await file.close();
  }
}

/** Repeats short writes: a nearly full disk accepts some of the bytes, and fails the next write. */
export async function writeFully(file: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}

/** Reads the footer of a Parquet file, with the trailing length and magic. */
export async function footerOf(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    return readFooter(file.fd, size).footer;
  } finally {
    await file.close();
  }
}

/** Reads the footer with the trailing length and magic; `at` is its offset. */
export function readFooter(file: number, size: number): { readonly footer: Buffer; readonly at: number } {
  if (size < PARQUET_TAIL_BYTES) throw new Error('The file is too small to be a Parquet file.');
  const tail = readFully(file, Buffer.alloc(PARQUET_TAIL_BYTES), size - PARQUET_TAIL_BYTES);
  const length = (parseParquetTail(tail) ?? Infinity) + PARQUET_TAIL_BYTES;
  if (length > size) throw new Error('The file is not a Parquet file.');
  return { footer: readFully(file, Buffer.alloc(length), size - length), at: size - length };
}

function writeNotes(footer: Buffer, notes: Readonly<Record<string, number>>): void {
  for (const [key, value] of Object.entries(notes)) {
    // Key and value are strings with a length prefix, at the end of the footer.
    const length = String.fromCharCode(NOTE_PLACEHOLDER.length);
    const at = footer.lastIndexOf(`${key}\u0018${length}${NOTE_PLACEHOLDER}`, undefined, 'latin1');
    if (at < 0) throw new Error(`The file that was written has no ${key} in its metadata.`);
    footer.write(noteText(value), at + key.length + 2, 'latin1');
  }
}

/** The read buffer: large enough for few calls, small enough for the CPU cache of the checksum. */
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
function readFully(file: number, buffer: Buffer, position: number): Buffer {
  for (let at = 0; at < buffer.length;) at += readSome(file, buffer.subarray(at), position + at);
  return buffer;
}

/** Reads at least one byte; returns how many. */
export function readSome(file: number, buffer: Buffer, position: number, maxBytes = Infinity): number {
  const bytesRead = readSync(file, buffer, 0, Math.min(buffer.length, maxBytes), position);
  if (bytesRead === 0) throw new ShortFileError('The file is truncated.');
  return bytesRead;
}

/** The bytes of a file differ from the written ones. */
export class DamagedFileError extends Error {}

/** A file could not be read although its bytes match their checksums. */
export class IntactFileError extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** Most footers are shorter: one read is enough. */
const READ_AHEAD_BYTES = 32 * 1024;

/**
 * Reads the checksums of a file and verifies its footer. Returns undefined if it has none. `isOwn`: this store wrote the
 * file, so it must have checksums if it has their key.
 */
export function loadChecks(file: number, size: number, isOwn: boolean): FileChecks | undefined {
  const end = readEnd(file, size, READ_AHEAD_BYTES);
  const footerLength = parseParquetTail(end);
  if (footerLength === undefined) {
    if (isOwn) throw new DamagedFileError('The file does not end like a Parquet file.');
    return undefined;
  }
  const footerBytes = footerLength + PARQUET_TAIL_BYTES;
  const footerAt = size - footerBytes;
  const footer = footerAt < CHECKS_TAIL_BYTES ? end : readEnd(file, size, footerBytes + CHECKS_TAIL_BYTES, end);
  const tail = readTail(footer.subarray(0, CHECKS_TAIL_BYTES));
  if (footerAt < CHECKS_TAIL_BYTES || tail === undefined) {
    // The key is near the end of the footer.
    if (isOwn && end.includes(CHECKS_KEY, undefined, 'latin1')) {
      throw new DamagedFileError('The file has lost its checksums.');
    }
    return undefined;
  }
  if (crc32(footer.subarray(CHECKS_TAIL_BYTES)) !== tail.footerCrc) {
    throw new DamagedFileError('The footer of the file does not match its checksum.');
  }
  const checksAt = footerAt - tail.length;
  const checks =
    checksAt < 0
      ? undefined
      : decodeChecks(readEnd(file, size, footerBytes + tail.length, end).subarray(0, tail.length), tail, checksAt);
  if (checks === undefined) throw new DamagedFileError('The checksums of the file do not match their own checksum.');
  return checks;
}

/** Returns the last bytes of a file, from `known` if it has enough. */
function readEnd(file: number, size: number, length: number, known?: Buffer): Buffer {
  if (known !== undefined && known.length >= length) return known.subarray(known.length - length);
  const wanted = Math.min(size, length);
  return readFully(file, Buffer.alloc(wanted), size - wanted);
}
