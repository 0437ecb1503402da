import { crc32 } from 'node:zlib';
import type { ParquetLayout } from './parquet-layout.ts';

/**
 * The checksums of a Parquet file of ours. They stand between the last page and the footer, where no reader of Parquet
 * looks, so that a copy of the file has them too. Every byte of the file is covered: those before the checksums by the
 * ranges, the checksums by a checksum of their own, and the footer, with what follows it, by another.
 */
export interface FileChecks {
  /** They follow each other from the start of the file to where the checksums begin. */
  readonly ranges: readonly CheckedRange[];
  /** How many rows each row group has. */
  readonly groupRows: readonly number[];
}

/** Some bytes of a file and their checksum. */
export interface CheckedRange {
  readonly start: number;
  readonly end: number;
  /** Of which row group and column they are; -1 where they are of none. */
  readonly group: number;
  readonly column: number;
  readonly crc: number;
}

/** Bytes that are to get a checksum. */
export type UncheckedRange = Omit<CheckedRange, 'crc'>;

/** A key in the metadata of every file that has checksums. */
export const CHECKS_KEY = 'svc:checks';

/** The bytes at the end of the checksums: how many ranges and groups, the checksums of footer and checksums, a mark. */
export const CHECKS_TAIL_BYTES = 24;
const RANGE_WORDS = 5;
const WORD_BYTES = 4;
/** The last digit is the version of this form. */
const MARK = 'SVC-CRC1';
const TAIL = { ranges: 0, groups: 4, footer: 8, own: 12, mark: 16 };

/** Where the tail of the checksums says that they begin and what they cover. */
export interface ChecksTail {
  /** The length of the checksums, their tail included. */
  readonly length: number;
  readonly ranges: number;
  readonly groups: number;
  readonly footerCrc: number;
}

/** The ranges that cover a file up to its footer. */
export function rangesOf({ chunks }: ParquetLayout, footerAt: number): UncheckedRange[] {
  const ranges: UncheckedRange[] = [];
  let at = 0;
  const cover = (end: number): void => {
    if (end > at) ranges.push({ start: at, end, group: -1, column: -1 });
    at = Math.max(at, end);
  };
  for (const chunk of chunks) {
    if (chunk.start < at || chunk.end > footerAt) throw new Error('The columns of the file overlap.');
    cover(chunk.start);
    ranges.push(chunk);
    at = chunk.end;
  }
  cover(footerAt);
  return ranges;
}

/** Writes checksums down. `footer` is everything that follows them. */
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

/** Over all of the checksums but the place where it stands itself. */
function crcOfChecks(bytes: Buffer): number {
  const ownAt = bytes.length - CHECKS_TAIL_BYTES + TAIL.own;
  return crc32(bytes.subarray(ownAt + WORD_BYTES), crc32(bytes.subarray(0, ownAt)));
}

/** Reads the tail of checksums; undefined where there are none. */
export function readTail(tail: Buffer): ChecksTail | undefined {
  if (tail.toString('latin1', TAIL.mark) !== MARK) return undefined;
  const ranges = tail.readUInt32LE(TAIL.ranges);
  const groups = tail.readUInt32LE(TAIL.groups);
  const length = (ranges * RANGE_WORDS + groups) * WORD_BYTES + CHECKS_TAIL_BYTES;
  return { length, ranges, groups, footerCrc: tail.readUInt32LE(TAIL.footer) };
}

/** Reads checksums that begin at `checksAt`; undefined where they are not what was written. */
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
