import { ServiceError } from '@svc/errors';
import type { FrameStream } from '../frame-stream.ts';
import { recordColumn } from './columns/column.ts';
import { createColumns } from './columns/create-column.ts';
import type { RowFormat } from './row-format.ts';
import { createRowCursor, type RowCursor } from './row-cursor.ts';

/** The rows of a batch to be written. */
export interface BatchRows {
  /** Iterates over all rows. */
  readonly cursor: RowCursor;
  readonly length: number;
  /** The number of rows before this batch in the frame. */
  readonly start: number;
  /** Writes one row of any length; the bytes are valid until the kernel is used again. */
  writeAlone(row: number): Uint8Array;
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
      writeAlone(row) {
        const bytes = createRowCursor(column, length, row).writeLong();
        if (bytes === undefined) throw tooLong(row);
        return bytes;
      },
      tooLong,
    };
    start += length;
  }
}

function rowTooLong(row: number, format: string): ServiceError {
  return new ServiceError('out_of_memory', `Row ${row} of the result can take more than 128 MiB as ${format}.`, {
    hint: 'Leave out the columns with long values, or read the frame as Arrow.',
  });
}
