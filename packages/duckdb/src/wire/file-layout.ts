import type { BigIntStats } from 'node:fs';
import { crc32 } from 'node:zlib';

/**
 * The checksums of a Parquet file written by this store. They sit between the last page and the footer, where Parquet
 * readers do not look, so a copy of the file keeps them. Every byte is covered: the data by ranges, the checksums by one
 * over themselves, and the footer with the trailing bytes by another.
 */
export interface FileChecks {
  /** Contiguous, from the start of the file to the first byte of the checksums. */
  readonly ranges: readonly CheckedRange[];
  /** The number of rows in each row group. */
  readonly groupRows: readonly number[];
}

/** A range of bytes and its checksum. */
export interface CheckedRange {
  readonly start: number;
  readonly end: number;
  /** The row group and column of the bytes; -1 if none. */
  readonly group: number;
  readonly column: number;
  readonly crc: number;
}

/** A range without its checksum. */
export type UncheckedRange = Omit<CheckedRange, 'crc'>;

/** The metadata key of files with checksums. */
export const CHECKS_KEY = 'svc:checks';

/** The size of the tail: counts of ranges and groups, checksums of the footer and of the checksums, magic bytes. */
export const CHECKS_TAIL_BYTES = 24;
const RANGE_WORDS = 5;
const WORD_BYTES = 4;
/** The last digit is the format version. */
const MARK = 'SVC-CRC1';
const TAIL = { ranges: 0, groups: 4, footer: 8, own: 12, mark: 16 };

/** The decoded tail of the checksums. */
export interface ChecksTail {
  /** The length of the checksums, including the tail. */
  readonly length: number;
  readonly ranges: number;
  readonly groups: number;
  readonly footerCrc: number;
}

/** Covers a file up to its footer with ranges. */
export function rangesOf({ chunks }: ParquetLayout, footerAt: number): UncheckedRange[] {
  const ranges: UncheckedRange[] = [];
  let at = 0;
  const cover = (end: number): void => {
    if (end > at) ranges.push({ start: at, end, group: -1, column: -1 });
    at = Math.max(at, end);
  };
  for (const chunk of chunks) {
    if (chunk.start < at || chunk.end > footerAt) throw new Error('The column chunks of the file overlap.');
    cover(chunk.start);
    ranges.push(chunk);
    at = chunk.end;
  }
  cover(footerAt);
  return ranges;
}

/** Encodes checksums. `footer`: everything after them in the file. */
export function encodeChecks({ ranges, groupRows }: FileChecks, footer: Uint8Array): Buffer {
  const words = [...ranges.flatMap(wordsOf), ...groupRows];
  const bytes = Buffer.alloc(words.length * WORD_BYTES + CHECKS_TAIL_BYTES);
  words.forEach((word, i) => bytes.writeUInt32LE(word, i * WORD_BYTES));
  const tail = bytes.subarray(-CHECKS_TAIL_BYTES);
  tail.writeUInt32LE(ranges.length, TAIL.ranges);
  tail.writeUInt32LE(groupRows.length, TAIL.groups);
  tail.writeUInt32LE(crc32(footer), TAIL.footer);
  tail.write(MARK, TAIL.mark, 'latin1');
  tail.writeUInt32LE(crcOfChecks(bytes), TAIL.own);
  return bytes;
}

function wordsOf({ start, end, group, column, crc }: CheckedRange): number[] {
  const length = end - start;
  return [length % 2 ** 32, Math.floor(length / 2 ** 32), group + 1, column + 1, crc];
}

/** The checksum of the checksums, computed without its own bytes. */
function crcOfChecks(bytes: Buffer): number {
  const ownAt = bytes.length - CHECKS_TAIL_BYTES + TAIL.own;
  return crc32(bytes.subarray(ownAt + WORD_BYTES), crc32(bytes.subarray(0, ownAt)));
}

/** Decodes the tail of the checksums, or returns undefined if there are none. */
export function readTail(tail: Buffer): ChecksTail | undefined {
  if (tail.toString('latin1', TAIL.mark) !== MARK) return undefined;
  const ranges = tail.readUInt32LE(TAIL.ranges);
  const groups = tail.readUInt32LE(TAIL.groups);
  const length = (ranges * RANGE_WORDS + groups) * WORD_BYTES + CHECKS_TAIL_BYTES;
  return { length, ranges, groups, footerCrc: tail.readUInt32LE(TAIL.footer) };
}

/** Decodes the checksums at `checksAt`, or returns undefined if they are damaged. */
export function decodeChecks(bytes: Buffer, { ranges, groups }: ChecksTail, checksAt: number): FileChecks | undefined {
  if (bytes.readUInt32LE(bytes.length - CHECKS_TAIL_BYTES + TAIL.own) !== crcOfChecks(bytes)) return undefined;
  const word = (at: number): number => bytes.readUInt32LE(at * WORD_BYTES);
  let end = 0;
  const checked = Array.from({ length: ranges }, (_, i): CheckedRange => {
    const at = i * RANGE_WORDS;
    const start = end;
    end += word(at) + word(at + 1) * 2 ** 32;
    return { start, end, group: word(at + 2) - 1, column: word(at + 3) - 1, crc: word(at + 4) };
  });
  const groupRows = Array.from({ length: groups }, (_, i) => word(ranges * RANGE_WORDS + i));
  return end === checksAt ? { ranges: checked, groupRows } : undefined;
}

/** A column chunk: the bytes of one column in one row group. A nested column joins its adjacent leaves. */
export interface ColumnChunk {
  readonly start: number;
  readonly end: number;
  /** The index of its row group. */
  readonly group: number;
  /** The index of its top-level column. */
  readonly column: number;
}

/** The byte layout of a Parquet file. */
export interface ParquetLayout {
  /** In file order. */
  readonly chunks: readonly ColumnChunk[];
  /** The number of rows in each row group. */
  readonly groupRows: readonly number[];
}

/** The magic bytes at the start and the end of a Parquet file. */
export const PARQUET_MAGIC = 'PAR1';
/** A Parquet file ends with the length of its footer, then the magic bytes. */
export const PARQUET_TAIL_BYTES = 8;

/** Returns the footer length from the last bytes of a file, or undefined if they do not end a Parquet file. */
export function parseParquetTail(end: Buffer): number | undefined {
  const at = end.length - PARQUET_TAIL_BYTES;
  return at >= 0 && end.toString('latin1', at + 4) === PARQUET_MAGIC ? end.readUInt32LE(at) : undefined;
}

/** Returns the bytes after a footer. */
export function encodeParquetTail(footerBytes: number): Buffer {
  const tail = Buffer.alloc(PARQUET_TAIL_BYTES);
  tail.writeUInt32LE(footerBytes);
  tail.write(PARQUET_MAGIC, 4, 'latin1');
  return tail;
}

/**
 * Identifies the contents of a file; it changes if the file is replaced or written to, and sorts by change time. It uses
 * ctime because a copy may preserve mtime and inode numbers are reused, but user code cannot set ctime. Not for a part: each
 * has a name of its own, and its ctime changes when it gets a second one.
 */
export function versionOfFile({ mtimeNs, ctimeNs, ino, size }: BigIntStats, isPart = false): string {
  const others = isPart ? [ino, size] : [ctimeNs, ino, size];
  return [mtimeNs.toString(16).padStart(16, '0'), ...others.map((part) => part.toString(16))].join('-');
}
