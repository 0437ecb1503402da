import type { Cell, CellRange, RowSource } from '../rows/row-source.ts';

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

/** Creates the state of a grid without a size. */
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

const MIN_COLUMN_PX = 48;
const MAX_COLUMN_PX = 2000;
const MAX_FITTED_PX = 360;
const UNMEASURED_PX = 120;
/** The space left and right of a text. */
export const CELL_PADDING_PX = 8;

/** The widths of columns. A column has a default width until its first cells are there. */
export interface ColumnWidths {
  readonly totalPx: number;
  widthOf(column: number): number;
  /** The distance of a column from the first one. */
  leftOf(column: number): number;
  /** The column at a distance from the first one; beyond the last column, the last. */
  columnAt(px: number): number;
  isMeasured(column: number): boolean;
  /** Sets the width of a column from the widths of its texts. */
  fit(column: number, textPx: number): void;
  /** Widens a column for later texts, unless the user has chosen its width. */
  grow(column: number, textPx: number): void;
  resize(column: number, px: number): void;
  /** Makes all widths multiples of the width of a character: the texts of a row are painted at once. */
  setStep(px: number): void;
}

/** Creates the widths of some columns. */
export function createColumnWidths(count: number): ColumnWidths {
  const widths = new Float64Array(count).fill(UNMEASURED_PX);
  const lefts = new Float64Array(count + 1);
  const measured = new Uint8Array(count);
  const chosen = new Uint8Array(count);
  let dirtyFrom = 0;
  let step = 1;

  function update(): void {
    for (let i = dirtyFrom; i < count; i += 1) lefts[i + 1] = (lefts[i] ?? 0) + (widths[i] ?? 0);
    dirtyFrom = count;
  }

  function set(column: number, px: number): void {
    measured[column] = 1;
    if (widths[column] === px) return;
    widths[column] = px;
    dirtyFrom = Math.min(dirtyFrom, column);
  }

  const leftOf = (column: number): number => {
    update();
    return lefts[clamp(column, 0, count)] ?? 0;
  };
  return {
    get totalPx() {
      return leftOf(count);
    },
    leftOf,
    widthOf: (column) => widths[column] ?? 0,
    columnAt(px) {
      update();
      let low = 0;
      let high = Math.max(0, count - 1);
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if ((lefts[middle] ?? 0) <= px) low = middle;
        else high = middle - 1;
      }
      return low;
    },
    isMeasured: (column) => measured[column] === 1,
    fit: (column, textPx) => set(column, fittedPx(textPx, step)),
    grow(column, textPx) {
      const px = fittedPx(textPx, step);
      if (chosen[column] === 0 && px > (widths[column] ?? 0)) set(column, px);
    },
    resize(column, px) {
      chosen[column] = 1;
      set(column, Math.round(clamp(px, MIN_COLUMN_PX, MAX_COLUMN_PX) / step) * step);
    },
    setStep(px) {
      if (px === step) return;
      step = px;
      dirtyFrom = 0;
      for (const [column, width] of widths.entries()) widths[column] = Math.ceil(width / step) * step;
    },
  };
}

const fittedPx = (textPx: number, step: number): number =>
  Math.ceil(clamp(textPx + 2 * CELL_PADDING_PX + 2, MIN_COLUMN_PX, MAX_FITTED_PX) / step) * step;

/** The text after a cut value: the length of the whole. */
export function sizeText({ look, bytes }: Cell): string {
  if (look !== 'cut') return '';
  return bytes === undefined ? '\u2026' : `\u2026 ${formatBytes(bytes)}`;
}

/** Returns a size in bytes, kB, MB or GB with one decimal. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB'];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value.toFixed(1)} ${units[unit]}`;
}

/**
 * The tallest element in all browsers: Firefox ends at 17 895 697 px, Chromium at 33 554 428 px. Longer content
 * is mapped onto it: near both ends a pixel is a pixel, between them the scroll bar is compressed.
 */
export const MAX_SCROLL_PX = 15_000_000;
const EDGE_PX = 200_000;

/** The heights of a scroll bar. */
export interface ScrollSizes {
  /** The height of all rows. */
  readonly contentPx: number;
  /** The height of the visible part. */
  readonly viewPx: number;
}

/** Returns the height of the scrolled element. */
export function spacerPx({ contentPx }: ScrollSizes): number {
  return Math.min(contentPx, MAX_SCROLL_PX);
}

/** True if the scroll bar has fewer pixels than the content. */
export function isCompressed({ contentPx }: ScrollSizes): boolean {
  return contentPx > MAX_SCROLL_PX;
}

/** Returns the place in the content for a position of the scroll bar. */
export function contentFromScroll(scrollTop: number, sizes: ScrollSizes): number {
  const most = Math.max(0, sizes.contentPx - sizes.viewPx);
  const bar = Math.max(0, spacerPx(sizes) - sizes.viewPx);
  const at = clamp(scrollTop, 0, bar);
  if (most <= bar || at <= EDGE_PX) return at;
  if (at >= bar - EDGE_PX) return most - (bar - at);
  return EDGE_PX + ((at - EDGE_PX) / (bar - 2 * EDGE_PX)) * (most - 2 * EDGE_PX);
}

/** Returns the position of the scroll bar for a place in the content: the reverse. */
export function scrollFromContent(content: number, sizes: ScrollSizes): number {
  const most = Math.max(0, sizes.contentPx - sizes.viewPx);
  const bar = Math.max(0, spacerPx(sizes) - sizes.viewPx);
  const at = clamp(content, 0, most);
  if (most <= bar || at <= EDGE_PX) return at;
  if (at >= most - EDGE_PX) return bar - (most - at);
  return EDGE_PX + ((at - EDGE_PX) / (most - 2 * EDGE_PX)) * (bar - 2 * EDGE_PX);
}

/** Returns the value, or the nearer end of a range. */
export function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, value));
}

/** The cell with the focus, and the other corner of the selection. */
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
  /** The rows of a page. */
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
