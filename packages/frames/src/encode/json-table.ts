import { setImmediate } from 'node:timers/promises';
import { ServiceError } from '@svc/errors';
import type { RecordBatch } from 'apache-arrow';
import { columnInfo } from '../column-types.ts';
import type { FrameStream } from '../frame-stream.ts';
import { type CellWriter, MAX_ROW_BYTES } from './cell-writer.ts';
import { type CellOptions, createColumnWriter } from './column-writer.ts';

/** What a JSON table says beside its rows, and how. */
export interface JsonTableOptions {
  /** The text of the `query` key. */
  readonly query: string;
  /** LONG and ULONG as strings, for clients that read JSON numbers as doubles. Default false. */
  readonly quoteLargeNum?: boolean;
  /** Called behind the last row; what it returns stands under the key `timings`. Default: no such key. */
  readonly timings?: () => Readonly<Record<string, number>>;
}

/** The first chunk is small, so that a short answer is one small buffer and a long one begins soon. */
const FIRST_CHUNK_BYTES = 128 * 1024;
const CHUNK_BYTES = 256 * 1024;
/** What follows the last row: a bracket, the count and the closing brace. */
const TAIL_BYTES = 64;

/**
 * Writes a frame as one JSON object: `query`, `columns`, `dataset` (one array a row) and `count`, in chunks of 256 KiB,
 * the first of 128 KiB, that each belong to the reader. Between chunks other work gets its turn.
 */
export async function* encodeJsonTable(source: FrameStream, options: JsonTableOptions): AsyncGenerator<Uint8Array> {
  const head = new TextEncoder().encode(
    `{"query":${JSON.stringify(options.query)},"columns":${JSON.stringify(
      source.schema.fields.map((field) => ({ name: field.name, type: columnInfo(field).type })),
    )},"dataset":[`,
  );
  let out = new Uint8Array(head.length + FIRST_CHUNK_BYTES);
  out.set(head);
  let at = head.length;
  let count = 0;
  const cells: CellOptions = { quoteLargeNum: options.quoteLargeNum ?? false, dictionaries: new Map() };
  for await (const batch of source.batches) {
    const rows = createRowWriter(batch, cells);
    while (rows.row < batch.numRows) {
      at = rows.write(out, at);
      if (rows.row === batch.numRows) break;
      if (at > 0) yield out.subarray(0, at);
      await setImmediate();
      const rowBytes = rows.nextBytes();
      if (rowBytes > MAX_ROW_BYTES) throw rowTooLong(count + rows.row + 1);
      out = new Uint8Array(Math.max(CHUNK_BYTES, rowBytes + TAIL_BYTES));
      at = 0;
    }
    count += batch.numRows;
  }
  // Every row ends with a comma; the last one may have gone out with its chunk only if more rows followed.
  if (count > 0) at--;
  const timings = options.timings ? `,"timings":${JSON.stringify(options.timings())}` : '';
  const tail = new TextEncoder().encode(`],"count":${count}${timings}}`);
  if (at + tail.length > out.length) {
    yield out.subarray(0, at);
    yield tail;
    return;
  }
  out.set(tail, at);
  yield out.subarray(0, at + tail.length);
}

function rowTooLong(row: number): ServiceError {
  return new ServiceError('out_of_memory', `Row ${row} of the answer can take more than 128 MiB as JSON.`, {
    hint: 'Leave out the columns with long values, or read the frame as Arrow over gRPC.',
  });
}

interface RowWriter {
  /** The next row to write. */
  readonly row: number;
  /** The most bytes the next row takes. */
  nextBytes(): number;
  /** Writes rows, each followed by a comma, until the batch or the room ends; returns the position behind them. */
  write(out: Uint8Array, at: number): number;
}

function createRowWriter(batch: RecordBatch, cells: CellOptions): RowWriter {
  const columns = batch.data.children.map((data) => createColumnWriter(data, cells));
  const writers = columns.map((column) => column.write);
  const variable = columns.flatMap((column) => column.variableBytes ?? []);
  const fixedBytes = columns.reduce((bytes, column) => bytes + column.fixedBytes + 1, 3);
  const { numRows } = batch;
  const bytesOf = (index: number): number => {
    let bytes = fixedBytes;
    for (let i = 0; i < variable.length; i++) bytes += variable[i](index);
    return bytes;
  };
  let row = 0;
  return {
    get row() {
      return row;
    },
    nextBytes: () => bytesOf(row),
    write: (out, at) => {
      const room = out.length - TAIL_BYTES;
      let to = at;
      let index = row;
      while (index < numRows && to + (variable.length === 0 ? fixedBytes : bytesOf(index)) <= room) {
        to = writeRow(out, to, index, writers);
        index++;
      }
      row = index;
      return to;
    },
  };
}

function writeRow(out: Uint8Array, at: number, row: number, writers: readonly CellWriter[]): number {
  let to = at;
  out[to++] = 91;
  for (let i = 0; i < writers.length; i++) {
    to = writers[i](out, to, row);
    out[to++] = 44;
  }
  if (writers.length > 0) to--;
  out[to] = 93;
  out[to + 1] = 44;
  return to + 2;
}
