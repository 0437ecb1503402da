import { allocateColumns, type Column } from './column.ts';
import { type Kernel, useKernel } from './kernel.ts';

/** A row is written in one go. Values that share their bytes can make it far longer than the frame itself. */
export const MAX_ROW_BYTES = 128 * 1024 * 1024;

/** Writes the rows of a batch, as far as there is room. */
export interface RowCursor {
  /** The next row to write. */
  readonly row: number;
  /** Writes rows from `at` to `end`, until they or the room end; returns the position behind them. */
  write(target: Uint8Array, at: number, end: number): number;
  /** Writes one row, whatever room it takes; undefined where that is too much. The bytes are there until the next call. */
  writeLong(): Uint8Array | undefined;
}

/** So many bytes of rows are loaded at once; a row that has more is loaded alone. */
const WINDOW_BYTES = 1024 * 1024;
const WINDOW_ROWS = 16 * 1024;
/** Twice as much as a row may take, because numbers can take more bytes in a frame than in text. */
const MAX_LOADED_BYTES = 2 * MAX_ROW_BYTES;
const ROOM_BYTES = 256 * 1024;

/** A cursor over the rows of a batch, which are the cells of one wide column. */
export function createRowCursor(rows: Column, numRows: number): RowCursor {
  const cursor = {};
  let row = 0;
  // What is loaded, as long as nobody else has used the kernel.
  let from = 0;
  let to = 0;
  let place = 0;
  let out = 0;
  let room = 0;

  function loadWindow(kernel: Kernel, wantedRoom: number): boolean {
    if (kernel.owner === cursor && row >= from && row < to && room >= wantedRoom) return true;
    let last = Math.min(numRows, row + WINDOW_ROWS);
    let bytes = rows.loadedBytes(row, last);
    while (bytes > WINDOW_BYTES && last > row + 1) {
      last = row + ((last - row) >> 1);
      bytes = rows.loadedBytes(row, last);
    }
    if (bytes > MAX_LOADED_BYTES) return false;
    kernel.owner = undefined;
    kernel.clear();
    out = kernel.allocate(wantedRoom);
    place = allocateColumns(kernel, 1);
    rows.load(kernel, place, row, last);
    [from, to, room] = [row, last, wantedRoom];
    kernel.owner = cursor;
    return true;
  }

  function writeWindow(kernel: Kernel, last: number, bytes: number): number {
    const written = kernel.write(place, row - from, last - from, { out, bytes, cellBytes: rows.fixedBytes, ends: 0 });
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
        if (!loadWindow(kernel, Math.max(ROOM_BYTES, end - position))) break;
        const before = row;
        const bytes = writeWindow(kernel, to, end - position);
        if (row === before) break;
        target.set(kernel.bytes.subarray(out, out + bytes), position);
        position += bytes;
      }
      return position;
    },
    writeLong() {
      if (rows.fixedBytes > MAX_ROW_BYTES) return undefined;
      const kernel = useKernel();
      const before = row;
      for (let wanted = ROOM_BYTES; ; wanted *= 4) {
        if (!loadWindow(kernel, Math.min(wanted, MAX_ROW_BYTES))) return undefined;
        const bytes = writeWindow(kernel, before + 1, room);
        if (row > before) return kernel.bytes.subarray(out, out + bytes);
        if (wanted >= MAX_ROW_BYTES) return undefined;
      }
    },
  };
}
