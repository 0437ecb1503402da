import type { RecordText } from './columns/column.ts';
import type { CellOptions } from './columns/create-column.ts';

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
