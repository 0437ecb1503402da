import type { CellRange } from '../rows/row-source.ts';
import { clamp } from './scroll-map.ts';

/** A cell that has the focus, and the other corner of what is selected. */
export interface Selection {
  readonly row: number;
  readonly column: number;
  readonly anchorRow: number;
  readonly anchorColumn: number;
}

/** What moves in the grid need to know. */
export interface GridSize {
  readonly rows: number;
  readonly columns: number;
  /** The rows that fit into the view. */
  readonly pageRows: number;
}

/** A pressed key, as the browser reports it. */
export interface KeyPress {
  readonly key: string;
  readonly isControl: boolean;
  readonly isShift: boolean;
}

/** Selects one cell. */
export function selectCell(row: number, column: number): Selection {
  return { row, column, anchorRow: row, anchorColumn: column };
}

/** Selects from the anchor to a cell. */
export function extendTo({ anchorRow, anchorColumn }: Selection, row: number, column: number): Selection {
  return { row, column, anchorRow, anchorColumn };
}

/** Returns what is selected. */
export function selectedRange({ row, column, anchorRow, anchorColumn }: Selection): CellRange {
  return {
    firstRow: Math.min(row, anchorRow),
    lastRow: Math.max(row, anchorRow),
    firstColumn: Math.min(column, anchorColumn),
    lastColumn: Math.max(column, anchorColumn),
  };
}

/** Returns the selection after a key; undefined if the key does not move. */
export function moveSelection(from: Selection, press: KeyPress, size: GridSize): Selection | undefined {
  if (size.rows === 0 || size.columns === 0) return undefined;
  const lastRow = size.rows - 1;
  const lastColumn = size.columns - 1;
  if (press.isControl && press.key === 'a') {
    return { row: lastRow, column: lastColumn, anchorRow: 0, anchorColumn: 0 };
  }
  const target = targetOf(from, press, size);
  if (target === undefined) return undefined;
  const row = clamp(target.row, 0, lastRow);
  const column = clamp(target.column, 0, lastColumn);
  return press.isShift ? extendTo(from, row, column) : selectCell(row, column);
}

interface Target {
  readonly row: number;
  readonly column: number;
}

function targetOf({ row, column }: Selection, { key, isControl }: KeyPress, size: GridSize): Target | undefined {
  const far = Number.MAX_SAFE_INTEGER;
  const page = Math.max(1, size.pageRows - 1);
  switch (key) {
    case 'ArrowUp':
      return { row: isControl ? 0 : row - 1, column };
    case 'ArrowDown':
      return { row: isControl ? far : row + 1, column };
    case 'ArrowLeft':
      return { row, column: isControl ? 0 : column - 1 };
    case 'ArrowRight':
      return { row, column: isControl ? far : column + 1 };
    case 'PageUp':
      return isControl ? undefined : { row: row - page, column };
    case 'PageDown':
      return isControl ? undefined : { row: row + page, column };
    case 'Home':
      return { row: isControl ? 0 : row, column: 0 };
    case 'End':
      return { row: isControl ? far : row, column: far };
    default:
      return undefined;
  }
}

/** Returns the row or the column that a text means: `1 000 000`, `50%`, or the start of a column's name. */
export function parseGoTo(
  text: string,
  rows: number,
  names: readonly string[],
): { readonly row: number } | { readonly column: number } | undefined {
  const wanted = text.trim();
  if (wanted === '') return undefined;
  const isSame = (name: string): boolean => name.toLowerCase() === wanted.toLowerCase();
  const isStart = (name: string): boolean => name.toLowerCase().startsWith(wanted.toLowerCase());
  const exact = names.findIndex(isSame);
  if (exact >= 0) return { column: exact };
  const percent = /^(\d{1,3}(?:\.\d+)?)\s*%$/.exec(wanted)?.[1];
  if (percent !== undefined && rows > 0) {
    return { row: clamp(Math.floor((Number(percent) / 100) * rows), 0, rows - 1) };
  }
  const digits = wanted.replaceAll(/[\s,_.']/g, '');
  if (/^\d+$/.test(digits) && rows > 0) return { row: clamp(Number(digits) - 1, 0, rows - 1) };
  const start = names.findIndex(isStart);
  const column = start >= 0 ? start : names.findIndex((name) => name.toLowerCase().includes(wanted.toLowerCase()));
  return column >= 0 ? { column } : undefined;
}
