import type { RecordText } from './columns/column.ts';
import type { CellOptions } from './columns/create-column.ts';

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
