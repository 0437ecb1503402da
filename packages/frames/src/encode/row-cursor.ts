import { allocateColumns, type Column, type PieceWriter, WINDOW_BYTES } from './columns/column.ts';
import { type Kernel, useKernel } from './kernel/kernel.ts';

/** The maximum length of a row. Values that share bytes can make a row far longer than the frame. */
export const MAX_ROW_BYTES = 128 * 1024 * 1024;

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

/** Writes the rows of a batch incrementally. */
export interface RowCursor {
  /** The next row to write. */
  readonly row: number;
  /** Writes rows from `at` up to `end`, until rows or space run out; returns the end of the written bytes. */
  write(target: Uint8Array, at: number, end: number): number;
  /** Writes rows up to `last`, until space runs out; undefined if the next row is too long for that. */
  writeUpTo(last: number): WrittenRows | undefined;
  /**
   * Loads the next rows for another kernel, and marks them as written; undefined if the next row is too long for that.
   */
  load(): LoadedRows | undefined;
  /** Marks the next row as written. */
  skip(): void;
}

const WINDOW_ROWS = 16 * 1024;
const ROOM_BYTES = 256 * 1024;
/** The size of the end of a row. */
const END_BYTES = 4;

/** The rows of a batch that are in the kernel's memory, unless another owner has used the kernel since. */
interface Window {
  readonly from: number;
  readonly to: number;
  readonly place: number;
  /** The output area and its size. */
  readonly out: number;
  readonly room: number;
  /** Loads rows from `row` and reserves output space, unless both are there; false if a row is too long. */
  load(kernel: Kernel, row: number, wantedRoom: number): boolean;
}

function createWindow(rows: Column, numRows: number): Window {
  const owner = {};
  let [from, to, place, out, room] = [0, 0, 0, 0, 0];
  return {
    get from() {
      return from;
    },
    get to() {
      return to;
    },
    get place() {
      return place;
    },
    get out() {
      return out;
    },
    get room() {
      return room;
    },
    load(kernel, row, wantedRoom) {
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
    },
  };
}

/**
 * Creates a cursor over the rows of a batch, which are the cells of one record column. It writes up to `roomBytes` at a
 * time.
 */
export function createRowCursor(rows: Column, numRows: number, firstRow = 0, roomBytes = ROOM_BYTES): RowCursor {
  const window = createWindow(rows, numRows);
  let row = firstRow;

  function writeWindow(kernel: Kernel, last: number, bytes: number, ends = 0): number {
    const { from, place, out } = window;
    const written = kernel.write(place, row - from, last - from, { out, bytes, cellBytes: rows.fixedBytes, ends });
    row = from + written.row;
    return written.bytes;
  }

  return {
    get row() {
      return row;
    },
    write(target, at, end) {
      let position = at;
      while (row < numRows && position + rows.fixedBytes <= end) {
        const kernel = useKernel();
        if (!window.load(kernel, row, Math.max(roomBytes, end - position))) break;
        const before = row;
        const bytes = writeWindow(kernel, window.to, end - position);
        if (row === before) break;
        target.set(kernel.bytes.subarray(window.out, window.out + bytes), position);
        position += bytes;
      }
      return position;
    },
    writeUpTo(last) {
      const kernel = useKernel();
      if (!window.load(kernel, row, roomBytes)) return undefined;
      const before = row;
      const end = Math.min(last, window.to);
      return kernel.scoped(() => {
        const ends = kernel.allocate(END_BYTES * (end - row));
        const bytes = writeWindow(kernel, end, window.room, ends);
        if (row === before) return undefined;
        return {
          bytes: kernel.bytes.subarray(window.out, window.out + bytes),
          ends: new Uint32Array(kernel.bytes.buffer, ends, row - before),
        };
      });
    },
    load() {
      if (rows.loadedBytes(row, row + 1) > WINDOW_BYTES) return undefined;
      const kernel = useKernel();
      // Reload without output space, which would only be copied.
      kernel.owner = undefined;
      window.load(kernel, row, 0);
      row = window.to;
      const { from, to, place } = window;
      return { memory: kernel.used, place, count: to - from, rowBytes: rows.fixedBytes };
    },
    skip() {
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
