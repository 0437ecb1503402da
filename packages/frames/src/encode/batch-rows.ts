import { setImmediate } from 'node:timers/promises';
import { ServiceError } from '@svc/errors';
import type { FrameStream } from '../frame-stream.ts';
import { cellPieces, type Column, recordColumn } from './columns/column.ts';
import { createColumns } from './columns/create-column.ts';
import type { RowFormat } from './row-format.ts';
import { createPieceWriter, createRowCursor, MAX_ROW_BYTES, type RowCursor } from './row-cursor.ts';

/** The rows of a batch to be written. */
export interface BatchRows {
  /** Iterates over all rows. */
  readonly cursor: RowCursor;
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
/** The bytes of a chunk. */
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
