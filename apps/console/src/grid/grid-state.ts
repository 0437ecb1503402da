import type { CellRange, RowSource } from '../rows/row-source.ts';
import { type ColumnWidths, createColumnWidths } from './columns.ts';
import { clamp, type ScrollSizes } from './scroll-map.ts';
import { type GridSize, selectCell, type Selection } from './selection.ts';

export const HEAD_PX = 42;
const CHARACTER_PX = 7.3;

/** What the grid shows, and where. The painter, the layer at rest and the controller share it. */
export interface GridState {
  readonly source: RowSource;
  readonly widths: ColumnWidths;
  selection: Selection;
  hasFocus: boolean;
  /** The place of the first visible pixel in the content. */
  top: number;
  left: number;
  /** The size of the grid without its scroll bars. */
  width: number;
  height: number;
  rowPx: number;
}

/** Creates the state of a grid that has no size yet. */
export function createGridState(source: RowSource): GridState {
  return {
    source,
    widths: createColumnWidths(source.columns.length),
    selection: selectCell(0, 0),
    hasFocus: false,
    top: 0,
    left: 0,
    width: 0,
    height: 0,
    rowPx: 24,
  };
}

/** The width of the row numbers. */
export function gutterPx({ source }: GridState): number {
  const digits = Math.max(2, String(source.rowCount.peek()).length);
  return Math.ceil(digits * CHARACTER_PX) + 18;
}

export function scrollSizes(state: GridState): ScrollSizes {
  return { contentPx: state.source.rowCount.peek() * state.rowPx, viewPx: Math.max(0, state.height - HEAD_PX) };
}

export function gridSize(state: GridState): GridSize {
  return {
    rows: state.source.rowCount.peek(),
    columns: state.source.columns.length,
    pageRows: Math.max(1, Math.floor(scrollSizes(state).viewPx / state.rowPx)),
  };
}

/** The cells in view; undefined if there are none. */
export function visibleRange(state: GridState): CellRange | undefined {
  const { rows, columns } = gridSize(state);
  if (rows === 0 || state.height <= HEAD_PX) return undefined;
  const { viewPx } = scrollSizes(state);
  const right = state.left + Math.max(0, state.width - gutterPx(state));
  return {
    firstRow: clamp(Math.floor(state.top / state.rowPx), 0, rows - 1),
    lastRow: clamp(Math.ceil((state.top + viewPx) / state.rowPx) - 1, 0, rows - 1),
    firstColumn: columns === 0 ? 0 : state.widths.columnAt(state.left),
    lastColumn: columns === 0 ? -1 : state.widths.columnAt(right),
  };
}

/** The distance of a row from the top of the grid, and of a column from its left. */
export const rowY = (state: GridState, row: number): number => HEAD_PX + row * state.rowPx - state.top;
export const columnX = (state: GridState, column: number): number =>
  gutterPx(state) + state.widths.leftOf(column) - state.left;

/** What is at a point of the grid. */
export interface GridPoint {
  readonly area: 'cell' | 'head' | 'gutter' | 'corner';
  readonly row: number;
  readonly column: number;
  /** The column whose right edge is at this point of the head. */
  readonly edge: number | undefined;
}

const EDGE_REACH_PX = 5;

/** Returns what is at a point; points outside mean the nearest cell. */
export function pointAt(state: GridState, x: number, y: number): GridPoint {
  const { rows, columns } = gridSize(state);
  const gutter = gutterPx(state);
  const across = x - gutter + state.left;
  const column = clamp(state.widths.columnAt(across), 0, Math.max(0, columns - 1));
  const row = clamp(Math.floor((y - HEAD_PX + state.top) / state.rowPx), 0, Math.max(0, rows - 1));
  const isHead = y < HEAD_PX;
  const isGutter = x < gutter;
  const area = isHead ? (isGutter ? 'corner' : 'head') : isGutter ? 'gutter' : 'cell';
  return { area, row, column, edge: area === 'head' ? edgeAt(state, across, column) : undefined };
}

function edgeAt({ widths }: GridState, across: number, column: number): number | undefined {
  const left = widths.leftOf(column);
  if (Math.abs(across - left - widths.widthOf(column)) <= EDGE_REACH_PX) return column;
  return column > 0 && across - left <= EDGE_REACH_PX ? column - 1 : undefined;
}
