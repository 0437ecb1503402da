import type { FrameStream } from '../frame-stream.ts';
import { batchRows } from './batch-rows.ts';
import { JSON_TABLE_HEAD, jsonTableFormat, jsonTableHead } from './json-table.ts';
import type { WrittenRows } from './row-cursor.ts';

/** Consecutive rows of a JSON table as text, each with a comma after it. */
export interface RowBlock {
  /** The text before the first row of the table. All blocks of a table share it. */
  readonly head: Uint8Array;
  readonly bytes: Uint8Array;
  /** The end of each row in the bytes. */
  readonly ends: Uint16Array | Uint32Array;
}

/** Options of `encodeRowBlocks`. */
export interface RowBlockOptions {
  /** The value of the `query` key. */
  readonly query: string;
  /** Write LONG, ULONG and LONG128 as strings. */
  readonly quoteLargeNum: boolean;
  /** The rows of a block; the last one may have fewer. */
  readonly blockRows: number;
  /** The limit of the text of a block. */
  readonly maxBlockBytes: number;
}

/** Encodes all rows of a short frame as blocks of a JSON table; undefined if one of them is too long. */
export async function encodeRowBlocks(
  source: FrameStream,
  { query, quoteLargeNum, blockRows, maxBlockBytes }: RowBlockOptions,
): Promise<readonly RowBlock[] | undefined> {
  const { fields } = source.schema;
  // A copy: the head is a slice of Node's buffer pool, all of which it would keep in memory.
  const head = new Uint8Array(jsonTableHead(source.schema, query));
  const blocks: RowBlock[] = [];
  let parts: WrittenRows[] = [];
  let bytes = 0;
  let left = blockRows;
  function endBlock(): void {
    const { bytes: rows, ends } = joinedRows(parts);
    blocks.push({ head, bytes: rows, ends: rows.length <= MAX_SHORT ? Uint16Array.from(ends) : ends });
    [parts, bytes, left] = [[], 0, blockRows];
  }
  for await (const { cursor, length } of batchRows(source, jsonTableFormat(fields, quoteLargeNum, NOTHING_AROUND))) {
    while (cursor.row < length) {
      const before = cursor.row;
      const written = cursor.writeUpTo(Math.min(length, before + left));
      if (written === undefined) return undefined;
      bytes += written.bytes.length;
      if (bytes > maxBlockBytes) return undefined;
      // Copies: the memory of the kernel is reused.
      parts.push({ bytes: written.bytes.slice(), ends: written.ends.slice() });
      left -= cursor.row - before;
      if (left === 0) endBlock();
    }
  }
  if (parts.length > 0) endBlock();
  return blocks;
}

/** Up to this length, an end takes two bytes. */
const MAX_SHORT = 0xffff;
const NOTHING_AROUND = { head: new Uint8Array(0), tail: () => new Uint8Array(0) };

function joinedRows(parts: readonly WrittenRows[]): WrittenRows {
  if (parts.length === 1) return parts[0];
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.bytes.length, 0));
  const ends = new Uint32Array(parts.reduce((sum, part) => sum + part.ends.length, 0));
  let [at, row] = [0, 0];
  for (const part of parts) {
    bytes.set(part.bytes, at);
    for (const end of part.ends) ends[row++] = at + end;
    at += part.bytes.length;
  }
  return { bytes, ends };
}

/** Options of `jsonTableOf`. */
export interface RowBlockRange {
  /** The first row, counted from the first row of the first block. */
  readonly from: number;
  /** The number of rows, at least one. */
  readonly rows: number;
  /** Write `query` and `columns`. */
  readonly metadata: boolean;
  /** The value of the key `count`. */
  readonly count: number;
}

/** Joins rows of consecutive blocks to a JSON table, as `encodeJsonTable` writes it. */
export function jsonTableOf(
  blocks: readonly RowBlock[],
  { from, rows, metadata, count }: RowBlockRange,
): Uint8Array<ArrayBuffer> {
  const parts = [metadata ? blocks[0].head : JSON_TABLE_HEAD];
  let first = from;
  let last = from + rows;
  for (const { bytes, ends } of blocks) {
    parts.push(bytes.subarray(first === 0 ? 0 : ends[first - 1], ends[Math.min(last, ends.length) - 1]));
    first = 0;
    last -= ends.length;
  }
  const tail = `],"count":${count}}`;
  const length = parts.reduce((sum, part) => sum + part.length, 0) + tail.length;
  // The tail overwrites the comma after the last row. Not from the pool of Node, whose slices are parts of a larger buffer.
  const table = Buffer.allocUnsafeSlow(length - 1);
  let at = 0;
  for (const part of parts) {
    table.set(part, at);
    at += part.length;
  }
  table.write(tail, at - 1, 'latin1');
  return table;
}
