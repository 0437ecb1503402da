import { setImmediate } from 'node:timers/promises';
import { ServiceError } from '@svc/errors';
import type { FrameStream } from '../frame-stream.ts';
import { recordColumn, type RecordText } from './column.ts';
import { type CellOptions, createColumns } from './create-column.ts';
import { createRowCursor } from './row-cursor.ts';

/** How bytes are handed over. */
export interface ChunkOptions {
  /**
   * Whether chunks behind the first share their memory, so that each is good only until the next one is asked for: memory
   * that is used again costs far less than new memory. Default false: each belongs to the reader.
   */
  readonly isLent?: boolean;
}

/** What one format of rows has for itself; how rows become chunks is the same for all. */
export interface RowFormat {
  /** The format's name in sentences. */
  readonly name: string;
  /** What stands before the first row. */
  readonly head: Uint8Array;
  /** What stands around the cells of a row. */
  readonly row: RecordText;
  readonly cells: CellOptions;
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
 * Writes a frame row by row, in chunks of 256 KiB, the first of 128 KiB. Between chunks other work gets its turn.
 */
export async function* encodeRows(
  source: FrameStream,
  format: RowFormat,
  { isLent = false }: ChunkOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { head } = format;
  let lent: Uint8Array | undefined;
  let out = allocate(head.length + FIRST_CHUNK_BYTES);
  out.set(head);
  let at = head.length;
  let count = 0;
  for await (const batch of source.batches) {
    // apache-arrow reads a stream without batches as one of no rows, whose nested columns have no children.
    if (batch.numRows === 0) continue;
    const columns = createColumns(batch, source.schema.fields, format.cells);
    const rows = createRowCursor(recordColumn(columns, format.row), batch.numRows);
    for (;;) {
      at = rows.write(out, at, out.length - TAIL_BYTES);
      if (rows.row === batch.numRows) break;
      if (at > 0) {
        yield out.subarray(0, at);
        await setImmediate();
        out = lent ?? allocate(CHUNK_BYTES);
        if (isLent) lent = out;
        at = 0;
      } else {
        const long = rows.writeLong();
        if (long === undefined) throw rowTooLong(count + rows.row + 1, format.name);
        out = allocate(long.length + TAIL_BYTES);
        out.set(long);
        at = long.length;
      }
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

/** Not filled with zeros: only what was written goes out. */
function allocate(bytes: number): Uint8Array {
  return Buffer.allocUnsafeSlow(bytes);
}

function rowTooLong(row: number, format: string): ServiceError {
  return new ServiceError('out_of_memory', `Row ${row} of the answer can take more than 128 MiB as ${format}.`, {
    hint: 'Leave out the columns with long values, or read the frame as Arrow.',
  });
}
