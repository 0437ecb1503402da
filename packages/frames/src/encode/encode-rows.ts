import { setImmediate } from 'node:timers/promises';
import { ServiceError } from '@svc/errors';
import type { RecordBatch } from 'apache-arrow';
import type { FrameStream } from '../frame-stream.ts';
import { type ColumnWriter, MAX_ROW_BYTES } from './cell-writer.ts';

/** Where the bytes of an encoding go. */
export interface ChunkOptions {
  /** Gives the memory of a chunk, of at least so many bytes. Default: `new Uint8Array(bytes)`. */
  readonly allocate?: (bytes: number) => Uint8Array;
}

/** What one format of rows has for itself; how rows become chunks is the same for all. */
export interface RowFormat {
  /** The format's name in sentences. */
  readonly name: string;
  /** What stands before the first row. */
  readonly head: Uint8Array;
  /** The writer of the rows of a batch: a row is written like one wide cell. */
  createRowWriter(batch: RecordBatch): ColumnWriter;
  /** How many bytes at the end of a row only separate it from the next, and are not wanted behind the last. */
  readonly separatorBytes: number;
  /** What stands behind the last row, given the number of rows. */
  tail(rows: number): Uint8Array;
}

/** The first chunk is small, so that a short answer is one small buffer and a long one begins soon. */
const FIRST_CHUNK_BYTES = 128 * 1024;
const CHUNK_BYTES = 256 * 1024;
/** Room that is kept for what follows the last row. */
const TAIL_BYTES = 64;

/**
 * Writes a frame row by row, in chunks of 256 KiB, the first of 128 KiB, that each belong to the reader. Between chunks
 * other work gets its turn.
 */
export async function* encodeRows(
  source: FrameStream,
  format: RowFormat,
  { allocate = allocateChunk }: ChunkOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { head } = format;
  let out = allocate(head.length + FIRST_CHUNK_BYTES);
  out.set(head);
  let at = head.length;
  let count = 0;
  for await (const batch of source.batches) {
    // apache-arrow reads a stream without batches as one of no rows, whose nested columns have no children.
    if (batch.numRows === 0) continue;
    const rows = createRowCursor(format.createRowWriter(batch), batch.numRows);
    while (rows.row < batch.numRows) {
      at = rows.write(out, at);
      if (rows.row === batch.numRows) break;
      if (at > 0) yield out.subarray(0, at);
      await setImmediate();
      const rowBytes = rows.nextBytes();
      if (rowBytes > MAX_ROW_BYTES) throw rowTooLong(count + rows.row + 1, format.name);
      out = allocate(Math.max(CHUNK_BYTES, rowBytes + TAIL_BYTES));
      at = 0;
    }
    count += batch.numRows;
  }
  // The separator behind the last row is still here: a chunk goes out only when a row follows that did not fit.
  if (count > 0) at -= format.separatorBytes;
  const tail = format.tail(count);
  if (at + tail.length > out.length) {
    yield out.subarray(0, at);
    out = allocate(tail.length);
    at = 0;
  }
  out.set(tail, at);
  if (at + tail.length > 0) yield out.subarray(0, at + tail.length);
}

function allocateChunk(bytes: number): Uint8Array {
  return new Uint8Array(bytes);
}

function rowTooLong(row: number, format: string): ServiceError {
  return new ServiceError('out_of_memory', `Row ${row} of the answer can take more than 128 MiB as ${format}.`, {
    hint: 'Leave out the columns with long values, or read the frame as Arrow.',
  });
}

interface RowCursor {
  /** The next row to write. */
  readonly row: number;
  /** The most bytes the next row takes. */
  nextBytes(): number;
  /** Writes rows until the batch or the room ends; returns the position behind them. */
  write(out: Uint8Array, at: number): number;
}

function createRowCursor(rows: ColumnWriter, numRows: number): RowCursor {
  const { write: writeRow, fixedBytes, variableBytes } = rows;
  let row = 0;
  return {
    get row() {
      return row;
    },
    nextBytes: () => fixedBytes + (variableBytes?.(row) ?? 0),
    write: (out, at) => {
      const room = out.length - TAIL_BYTES;
      let to = at;
      let index = row;
      if (variableBytes === undefined) {
        while (index < numRows && to + fixedBytes <= room) to = writeRow(out, to, index++);
      } else {
        while (index < numRows && to + fixedBytes + variableBytes(index) <= room) to = writeRow(out, to, index++);
      }
      row = index;
      return to;
    },
  };
}
