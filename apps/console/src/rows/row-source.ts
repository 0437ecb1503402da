import type { ReadonlySignal } from '@preact/signals';
import type { ColumnInfo } from '../api/api.ts';

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

/** The rows of the grid, the cell sheet and the clipboard: of a frame, loaded on demand, or of an answer in memory. */
export interface RowSource {
  readonly columns: readonly ColumnInfo[];
  /** The number of known rows. It grows while an answer arrives. */
  readonly rowCount: ReadonlySignal<number>;
  /** Changes whenever cells have arrived: the grid paints them then. */
  readonly revision: ReadonlySignal<number>;
  /** The last failure to load cells; undefined if there is none. */
  readonly failure: ReadonlySignal<Error | undefined>;
  /** The frame has been replaced: its cells are no longer loaded. Always false for an answer. */
  readonly isOutdated: ReadonlySignal<boolean>;
  /** Returns a cell; undefined if it is not loaded. */
  cell(row: number, column: number): Cell | undefined;
  /** Loads missing cells. A later call replaces unsent requests. */
  want(range: CellRange): void;
  /** Returns the whole text of a cell, loading it if it is cut. */
  wholeText(row: number, column: number, signal?: AbortSignal): Promise<string>;
  /** Tries again after a failure. */
  retry(): void;
  close(): void;
}

/** Rows in memory, for charts and summaries. */
export interface MemoryRows {
  readonly rowCount: ReadonlySignal<number>;
  /** Returns the whole text of a value, without symbols; null for null. */
  text(row: number, column: number): string | null;
  /**
   * Returns a number or a time several times as fast as by its text: floats as doubles, all else as a whole number of the
   * unit of its type; for decimals it is 10^-scale. Undefined if only the text has the value.
   */
  number?(row: number, column: number): number | bigint | undefined;
}

/** The grid shows at most this many characters of a value. */
export const MAX_CELL_CHARACTERS = 256;

/** Controls; marks of direction and other invisible characters; separators of lines. */
// oxlint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
const ALL_HIDDEN = new RegExp(HIDDEN, 'g');

/** Returns a text with symbols for invisible characters, and for those changing the look of others. */
export function visibleText(text: string): string {
  return HIDDEN.test(text) ? text.replace(ALL_HIDDEN, symbolOf) : text;
}

/** As `visibleText`, but lines stay lines. */
export function visibleLines(text: string): string {
  return text.split('\n').map(visibleText).join('\n');
}

function symbolOf(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : `\u2039U+${code.toString(16).toUpperCase().padStart(4, '0')}\u203a`;
}

export const NULL_CELL: Cell = { text: 'null', look: 'null' };
const EMPTY_CELL: Cell = { text: '\u2423', look: 'empty' };

/**
 * Returns the cell of a text. `bytes` is the length of the whole value, if the text is only its start or may be longer than
 * a cell.
 */
export function cellOfText(text: string, look: CellLook, bytes?: number): Cell {
  if (text.length <= MAX_CELL_CHARACTERS) {
    return text === '' && look === 'value' ? EMPTY_CELL : { text: visibleText(text), look };
  }
  const cut = visibleText(firstCharacters(text));
  return bytes === undefined ? { text: cut, look: 'cut' } : { text: cut, look: 'cut', bytes };
}

/** The first characters of a text; a pair of surrogates is not divided. */
function firstCharacters(text: string): string {
  const isPair = /[\ud800-\udbff]/.test(text[MAX_CELL_CHARACTERS - 1] ?? '');
  return text.slice(0, MAX_CELL_CHARACTERS - (isPair ? 1 : 0));
}
