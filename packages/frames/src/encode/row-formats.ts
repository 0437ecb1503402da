import { setImmediate } from 'node:timers/promises';
import type { Field, Schema } from 'apache-arrow';
import { columnInfo } from '../column-types.ts';
import type { FrameStream } from '../streams.ts';
import { createObjectText, createRecordText } from './columns/column.ts';
import { createCellOptions } from './columns/create-column.ts';
import { allocate, batchRows, CHUNK_BYTES, type RowFormat, type WrittenRows } from './row-cursor.ts';
import { type ThreadPool, threadPool, writeInThreads } from './threads/encode-threads.ts';

/** Options of the chunks. */
export interface ChunkOptions {
  /**
   * Reuse the buffers: each chunk after the first is valid until the next `next()`. This costs far less than new memory,
   * and several threads can write a long response. Default false: each chunk belongs to the reader.
   */
  readonly reuseBuffers?: boolean;
}

/** The first chunk is small, so a short result is one small buffer and a long one starts soon. */
const FIRST_CHUNK_BYTES = 128 * 1024;
/** Reserved for the bytes after the last row. */
const TAIL_BYTES = 64;

/**
 * Encodes a frame row by row, in chunks of 256 KiB, the first of 128 KiB; chunks from other threads have up to 2 MiB.
 * The event loop runs between chunks.
 */
export async function* encodeRows(
  source: FrameStream,
  format: RowFormat,
  { reuseBuffers = false }: ChunkOptions,
  pool: ThreadPool = threadPool,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { head, separatorBytes } = format;
  const batches = batchRows(source, format);
  const owner = {};
  let reused: Uint8Array | undefined;
  let out = allocate(head.length + FIRST_CHUNK_BYTES);
  out.set(head);
  let at = head.length;
  let count = 0;
  for await (const rows of batches) {
    const { cursor } = rows;
    count = rows.start + rows.length;
    for (;;) {
      at = cursor.write(out, at, out.length - TAIL_BYTES);
      if (cursor.row === rows.length) break;
      if (at > 0) {
        yield out.subarray(0, at);
        await setImmediate();
        out = reused ?? allocate(CHUNK_BYTES);
        if (reuseBuffers) reused = out;
        at = 0;
      } else {
        for await (const chunk of rows.writeLong(cursor.row, reuseBuffers)) {
          if (at > 0) yield out.subarray(0, at);
          out = chunk;
          at = chunk.length;
        }
        cursor.skip();
      }
      const threads = reuseBuffers && at === 0 ? pool.take(owner) : undefined;
      if (threads === undefined) continue;
      count = yield* writeInThreads({ current: rows, others: batches, separatorBytes }, threads);
      // The separator after the last row was not sent: continue as if it were still in the buffer.
      at = separatorBytes;
      break;
    }
  }
  // The separator after the last row is still in the buffer: a chunk is sent only if another row follows.
  if (count > 0) at -= separatorBytes;
  const tail = format.tail(count);
  if (at + tail.length > out.length) {
    yield out.subarray(0, at);
    out = allocate(tail.length);
    at = 0;
  }
  out.set(tail, at);
  if (at + tail.length > 0) yield out.subarray(0, at + tail.length);
}

/** Options of a JSON table. */
export interface JsonTableOptions extends ChunkOptions {
  /** The value of the `query` key. */
  readonly query: string;
  /** Write LONG, ULONG and LONG128 as strings, for clients that read JSON numbers as doubles. Default false. */
  readonly quoteLargeNum?: boolean;
  /** Write `query` and `columns`. Default true. */
  readonly metadata?: boolean;
  /** Called after the last row; returns the value of the key `count`. Default: the number of rows in `dataset`. */
  readonly count?: () => number;
  /** Called after the last row; returns the value of the key `timings`. Default: no such key. */
  readonly timings?: () => Readonly<Record<string, number>>;
}

/**
 * Encodes a frame as one JSON object: `query`, `columns`, `dataset` (one array per row) and `count`, in chunks of 256
 * KiB, the first of 128 KiB. A frame without columns has an empty array for each row.
 */
export function encodeJsonTable(
  source: FrameStream,
  options: JsonTableOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { query, quoteLargeNum, metadata = true } = options;
  const { fields } = source.schema;
  const format = jsonTableFormat(fields, quoteLargeNum, {
    head: metadata ? jsonTableHead(source.schema, query) : JSON_TABLE_HEAD,
    tail: (rows) => {
      const timings = options.timings ? `,"timings":${JSON.stringify(options.timings())}` : '';
      return Buffer.from(`],"count":${options.count?.() ?? rows}${timings}}`);
    },
  });
  return encodeRows(source, format, options);
}

/** The text before the rows of a JSON table without metadata. */
const JSON_TABLE_HEAD: Uint8Array = Buffer.from('{"dataset":[');

/** Returns the text before the rows of a JSON table with metadata. */
function jsonTableHead(schema: Schema, query: string): Uint8Array {
  let columns = columnTexts.get(schema);
  if (columns === undefined) {
    columns = JSON.stringify(schema.fields.map((field) => ({ name: field.name, type: columnInfo(field).type })));
    columnTexts.set(schema, columns);
  }
  return Buffer.from(`{"query":${JSON.stringify(query)},"columns":${columns},"dataset":[`);
}

/** The columns of schemas as JSON: a frame in memory always has the same schema. */
const columnTexts = new WeakMap<Schema, string>();

/** Creates the format of the rows of a JSON table: each is an array with a comma after it. */
function jsonTableFormat(
  fields: readonly Field[],
  quoteLargeNum: boolean | undefined,
  around: Pick<RowFormat, 'head' | 'tail'>,
): RowFormat {
  return {
    ...around,
    name: 'JSON',
    row: createRecordText(
      fields.map((_field, i) => (i === 0 ? '[' : ',')),
      fields.length === 0 ? '[],' : '],',
    ),
    cells: createCellOptions('json', quoteLargeNum),
    separatorBytes: 1,
  };
}

/** Options of NDJSON. */
export interface NdjsonOptions extends ChunkOptions {
  /** Write LONG, ULONG and LONG128 as strings, for clients that read JSON numbers as doubles. Default false. */
  readonly quoteLargeNum?: boolean;
}

/**
 * Encodes a frame as NDJSON: one object per row, with the values of the JSON table, each followed by a line feed. A
 * frame without rows has no bytes; one without columns has `{}` for each row.
 */
export function encodeNdjson(
  source: FrameStream,
  options: NdjsonOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const { fields } = source.schema;
  const names = fields.map((field) => field.name);
  const format: RowFormat = {
    name: 'NDJSON',
    head: NOTHING,
    row: createObjectText(names, '}\n'),
    cells: createCellOptions('json', options.quoteLargeNum),
    separatorBytes: 0,
    tail: () => NOTHING,
  };
  return encodeRows(source, format, options);
}

const NOTHING = new Uint8Array(0);

interface CsvEncodeOptions extends ChunkOptions {
  /** Write the header row. Default true. */
  readonly header?: boolean;
}

/**
 * Encodes a frame as CSV (RFC 4180): a header row, lines that end with CR LF, and a field in quotes only if it contains
 * a comma, a quote or a line break. An empty field is null, `""` is the empty text, a date has no time, and nested
 * values are JSON. A frame without rows is only its header; one without columns has no bytes, whatever its rows.
 */
export function encodeCsv(
  source: FrameStream,
  options: CsvEncodeOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const { fields } = source.schema;
  const { header = true } = options;
  const names = fields.map((field) => columnInfo(field).name);
  const format: RowFormat = {
    name: 'CSV',
    head: names.length === 0 || !header ? NOTHING : Buffer.from(`${names.map(headerField).join(',')}\r\n`),
    row: createRecordText(
      fields.map((_field, i) => (i === 0 ? '' : ',')),
      fields.length === 0 ? '' : '\r\n',
    ),
    cells: createCellOptions('csv'),
    separatorBytes: 0,
    tail: () => NOTHING,
  };
  return encodeRows(source, format, options);
}

function headerField(name: string): string {
  return name === '' || /[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}

/** Consecutive rows of a JSON table as text, each with a comma after it. */
export interface RowBlock {
  /** The text before the first row of the table. All blocks of a table share it. */
  readonly head: Uint8Array;
  readonly bytes: Uint8Array;
  /** The end of each row in the bytes. */
  readonly ends: Uint16Array | Uint32Array;
}

interface RowBlockOptions {
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

interface RowBlockRange {
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
