import { setImmediate } from 'node:timers/promises';
import { ServiceError } from '@svc/errors';
import type { FrameStream } from '../streams.ts';
import {
  MAX_ROW_BYTES,
  allocateColumns,
  cellPieces,
  type Column,
  type PieceWriter,
  recordColumn,
  type RecordText,
  WINDOW_BYTES,
} from './columns/column.ts';
import { type CellOptions, createColumns } from './columns/create-column.ts';
import { type Kernel, useKernel } from './kernel/kernel.ts';

/** Rows loaded in the kernel's memory, in a form that another kernel can write. */
export interface LoadedRows {
  /** The memory; valid until the kernel is used again. */
  readonly memory: Uint8Array;
  /** The address of their column descriptor. */
  readonly place: number;
  readonly count: number;
  /** The maximum bytes of a row, except for its texts and items. */
  readonly rowBytes: number;
}

/** Rows that were written, with the end of each in the bytes. Valid until the kernel is used again. */
export interface WrittenRows {
  readonly bytes: Uint8Array;
  readonly ends: Uint32Array;
}

const WINDOW_ROWS = 16 * 1024;
const ROOM_BYTES = 256 * 1024;
/** The size of the end of a row. */
const END_BYTES = 4;

/**
 * Creates a cursor over the rows of a batch, which are the cells of one record column. It writes up to `roomBytes` at a
 * time.
 */
export function createRowCursor(rows: Column, numRows: number, firstRow = 0, roomBytes = ROOM_BYTES) {
  const owner = {};
  let row = firstRow;
  /** The rows in the kernel's memory, unless another owner has used the kernel since; their columns; the output area. */
  let [from, to, place, out, room] = [0, 0, 0, 0, 0];

  /** Loads rows from `row` and reserves output space, unless both are there; false if a row is too long. */
  function loadWindow(kernel: Kernel, wantedRoom: number): boolean {
    if (kernel.owner === owner && row >= from && row < to && room >= wantedRoom) return true;
    let last = Math.min(numRows, row + WINDOW_ROWS);
    let bytes = rows.loadedBytes(row, last);
    while (bytes > WINDOW_BYTES && last > row + 1) {
      last = row + ((last - row) >> 1);
      bytes = rows.loadedBytes(row, last);
    }
    if (bytes > WINDOW_BYTES) return false;
    kernel.owner = undefined;
    kernel.clear();
    out = kernel.allocate(wantedRoom);
    place = allocateColumns(kernel, 1);
    rows.load(kernel, place, row, last);
    [from, to, room] = [row, last, wantedRoom];
    kernel.owner = owner;
    return true;
  }

  function writeWindow(kernel: Kernel, last: number, bytes: number, ends = 0): number {
    const written = kernel.write(place, row - from, last - from, { out, bytes, cellBytes: rows.fixedBytes, ends });
    row = from + written.row;
    return written.bytes;
  }

  return {
    /** The next row to write. */
    get row(): number {
      return row;
    },
    /** Writes rows from `at` up to `end`, until rows or space run out; returns the end of the written bytes. */
    write(target: Uint8Array, at: number, end: number): number {
      let position = at;
      while (row < numRows && position + rows.fixedBytes <= end) {
        const kernel = useKernel();
        if (!loadWindow(kernel, Math.max(roomBytes, end - position))) break;
        const before = row;
        const bytes = writeWindow(kernel, to, end - position);
        if (row === before) break;
        target.set(kernel.bytes.subarray(out, out + bytes), position);
        position += bytes;
      }
      return position;
    },
    /** Writes rows up to `last`, until space runs out; undefined if the next row is too long for that. */
    writeUpTo(last: number): WrittenRows | undefined {
      const kernel = useKernel();
      if (!loadWindow(kernel, roomBytes)) return undefined;
      const before = row;
      const end = Math.min(last, to);
      return kernel.scoped(() => {
        const ends = kernel.allocate(END_BYTES * (end - row));
        const bytes = writeWindow(kernel, end, room, ends);
        if (row === before) return undefined;
        return {
          bytes: kernel.bytes.subarray(out, out + bytes),
          ends: new Uint32Array(kernel.bytes.buffer, ends, row - before),
        };
      });
    },
    /** Loads the next rows for another kernel, and marks them as written; undefined if the next row is too long. */
    load(): LoadedRows | undefined {
      if (rows.loadedBytes(row, row + 1) > WINDOW_BYTES) return undefined;
      const kernel = useKernel();
      // Reload without output space, which would only be copied.
      kernel.owner = undefined;
      loadWindow(kernel, 0);
      row = to;
      return { memory: kernel.used, place, count: to - from, rowBytes: rows.fixedBytes };
    },
    /** Marks the next row as written. */
    skip(): void {
      row += 1;
    },
  };
}

/** The bytes of an escaped byte, and those around a text. */
const ESCAPE_BYTES = 6;
const AROUND_BYTES = 16;

/** Creates a writer of long rows. */
export function createPieceWriter(roomBytes = ROOM_BYTES): PieceWriter {
  return {
    textBytes: 3 * Math.floor((roomBytes - AROUND_BYTES) / (3 * ESCAPE_BYTES)),
    open: (column, from, to) => createRowCursor(column, to, from, roomBytes),
  };
}

/** The parts of a row format that differ; the chunking is the same for all. */
export interface RowFormat {
  /** The name of the format, for errors. */
  readonly name: string;
  /** The bytes before the first row. */
  readonly head: Uint8Array;
  /** The text around the cells of a row. */
  readonly row: RecordText;
  readonly cells: CellOptions;
  /** The number of bytes at the end of a row that separate it from the next; omitted after the last row. */
  readonly separatorBytes: number;
  /** Returns the bytes after the last row. */
  tail(rows: number): Uint8Array;
}

export interface BatchRows {
  /** Iterates over all rows. */
  readonly cursor: ReturnType<typeof createRowCursor>;
  readonly length: number;
  /** The number of rows before this batch in the frame. */
  readonly start: number;
  /**
   * Writes one row of any length in chunks. The event loop runs between them. A chunk belongs to the reader; with
   * `reuseBuffers`, each but the first is valid until the second `next()` after it.
   */
  writeLong(row: number, reuseBuffers: boolean): AsyncGenerator<Uint8Array, void, undefined>;
  /** Creates the error for a row that is too long. */
  tooLong(row: number): ServiceError;
}

/** Yields the rows of each batch of a frame, in a format. */
export async function* batchRows(
  { schema, batches }: FrameStream,
  format: RowFormat,
): AsyncGenerator<BatchRows, void, undefined> {
  let start = 0;
  for await (const batch of batches) {
    const length = batch.numRows;
    // apache-arrow reads a stream without batches as an empty one, whose nested columns have no children.
    if (length === 0) continue;
    const column = recordColumn(createColumns(batch, schema.fields, format.cells), format.row);
    const first = start;
    const tooLong = (row: number) => rowTooLong(first + row + 1, format.name);
    yield {
      cursor: createRowCursor(column, length),
      length,
      start,
      writeLong: (row, reuseBuffers) => writeLong(column, row, reuseBuffers, () => tooLong(row)),
      tooLong,
    };
    start += length;
  }
}

/** Twice the row limit, because numbers can take more bytes in a frame than as text. */
const MAX_LOADED_BYTES = 2 * MAX_ROW_BYTES;
export const CHUNK_BYTES = 256 * 1024;

async function* writeLong(
  column: Column,
  row: number,
  reuseBuffers: boolean,
  tooLong: () => ServiceError,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (column.loadedBytes(row, row + 1) > MAX_LOADED_BYTES) throw tooLong();
  // New memory for each chunk makes V8 collect all garbage several times in a row of 30 MB, for up to 30 ms.
  const read: Uint8Array[] = [];
  let chunks = 0;
  let total = 0;
  let out = allocate(CHUNK_BYTES);
  let at = 0;
  for (const piece of cellPieces(column, row, createPieceWriter())) {
    total += piece.length;
    if (total > MAX_ROW_BYTES) throw tooLong();
    if (piece.length === 0) await setImmediate();
    let rest = piece;
    while (rest.length > out.length - at) {
      out.set(rest.subarray(0, out.length - at), at);
      rest = rest.subarray(out.length - at);
      // The rest of what the kernel wrote is copied first, because others use the kernel in between.
      const next = (read.length > 1 ? read.shift() : undefined) ?? allocate(CHUNK_BYTES);
      next.set(rest.subarray(0, next.length));
      yield out;
      await setImmediate();
      if (reuseBuffers && chunks++ > 0) read.push(out);
      at = Math.min(rest.length, next.length);
      rest = rest.subarray(at);
      out = next;
    }
    out.set(rest, at);
    at += rest.length;
  }
  yield out.subarray(0, at);
}

/** Allocates without zero-filling: only written bytes are sent. */
export function allocate(bytes: number): Uint8Array {
  return Buffer.allocUnsafeSlow(bytes);
}

function rowTooLong(row: number, format: string): ServiceError {
  return new ServiceError('out_of_memory', `Row ${row} of the result can take more than 128 MiB as ${format}.`, {
    hint: 'Leave out the columns with long values, or read the frame as Arrow.',
  });
}
