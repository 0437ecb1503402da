import { crc32 } from 'node:zlib';
import { CHECKS_KEY, CHECKS_TAIL_BYTES, decodeChecks, type FileChecks, readTail } from '../../wire/file-checks.ts';
import { PARQUET_TAIL_BYTES, parseParquetTail } from '../../wire/parquet-tail.ts';
import { readFully } from './read-checksums.ts';

/** The bytes of a file differ from those that were written. */
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

/** Returns the last bytes of a file, from `known` if that has enough. */
function readEnd(file: number, size: number, length: number, known?: Buffer): Buffer {
  if (known !== undefined && known.length >= length) return known.subarray(known.length - length);
  const wanted = Math.min(size, length);
  return readFully(file, Buffer.alloc(wanted), size - wanted);
}
