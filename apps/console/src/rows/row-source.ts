import type { ReadonlySignal } from '@preact/signals';
import type { ColumnInfo } from '../api/types.ts';

/** How a cell looks. Null, the empty text and NaN never look the same. */
export type CellLook = 'value' | 'null' | 'empty' | 'nan' | 'cut';

/** A cell, as the grid shows it. */
export interface Cell {
  /** The exact value as text, at most 256 characters; control and bidi characters are replaced by symbols. */
  readonly text: string;
  readonly look: CellLook;
  /** The length of the whole value in bytes, if `look` is `cut`. */
  readonly bytes?: number;
}

/** A rectangle of cells; the ends are included. */
export interface CellRange {
  readonly firstRow: number;
  readonly lastRow: number;
  readonly firstColumn: number;
  readonly lastColumn: number;
}

/**
 * Rows that the grid, the cell sheet and the clipboard read: a frame, whose windows come from the server when they are
 * wanted, or an answer in memory.
 */
export interface RowSource {
  readonly columns: readonly ColumnInfo[];
  /** The number of rows that are known to exist. It grows while an answer arrives. */
  readonly rowCount: ReadonlySignal<number>;
  /** Changes whenever cells have arrived, so that what shows them can be painted again. */
  readonly revision: ReadonlySignal<number>;
  /** The last failure to load cells; undefined if there is none. */
  readonly failure: ReadonlySignal<Error | undefined>;
  /** The frame has been replaced: its cells are no longer loaded. Always false for an answer. */
  readonly isOutdated: ReadonlySignal<boolean>;
  /** Returns a cell; undefined if it is not loaded. */
  cell(row: number, column: number): Cell | undefined;
  /** Loads cells that are not there. A later call replaces wishes that are not yet sent. */
  want(range: CellRange): void;
  /** Returns the whole text of a cell, loading it if it is cut. */
  wholeText(row: number, column: number, signal?: AbortSignal): Promise<string>;
  /** Tries again after a failure. */
  retry(): void;
  close(): void;
}
