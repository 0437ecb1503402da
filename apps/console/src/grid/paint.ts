import type { CellRange } from '../rows/row-source.ts';
import { visibleText } from '../rows/visible-text.ts';
import { CELL_PADDING_PX, isNumeric } from './columns.ts';
import { columnX, type GridState, gutterPx, HEAD_PX, rowY, visibleRange } from './grid-state.ts';
import { ASCII, type Brush, columnPlaces, PADDING, paintClipped, paintTexts } from './paint-texts.ts';
import { selectedRange } from './selection.ts';
import type { GridTheme } from './theme.ts';

/** Paints the grid on a canvas. */
export interface Painter {
  /** The width of a character in the grid's font, which has the same for all of ASCII. */
  readonly characterPx: number;
  /** The width of a text in the grid's font. */
  measure(text: string): number;
  setTheme(theme: GridTheme): void;
  paint(state: GridState): void;
}

/** Creates the painter of a canvas. */
export function createPainter(canvas: HTMLCanvasElement, first: GridTheme): Painter {
  const context = canvas.getContext('2d', { alpha: false });
  if (context === null) throw new Error('This browser has no 2D canvas.');
  const g = context;
  let brush: Brush = { g, theme: first, characterPx: 7 };

  function setTheme(theme: GridTheme): void {
    g.font = theme.font;
    brush = { g, theme, characterPx: g.measureText('0'.repeat(100)).width / 100 };
  }

  setTheme(first);
  return {
    setTheme,
    get characterPx() {
      return brush.characterPx;
    },
    measure(text) {
      g.font = brush.theme.font;
      return ASCII.test(text) ? text.length * brush.characterPx : g.measureText(text).width;
    },
    paint(state) {
      fitCanvas(canvas, state);
      const scale = devicePixelRatio;
      g.setTransform(scale, 0, 0, scale, 0, 0);
      g.font = brush.theme.font;
      g.textBaseline = 'middle';
      g.direction = 'ltr';
      g.fillStyle = brush.theme.background;
      g.fillRect(0, 0, state.width, state.height);
      const range = visibleRange(state);
      if (range !== undefined) paintBody(brush, state, range);
      paintHead(brush, state);
    },
  };
}

/** Gives the canvas the pixels of the screen. */
function fitCanvas(canvas: HTMLCanvasElement, { width, height }: GridState): void {
  const across = Math.round(width * devicePixelRatio);
  const down = Math.round(height * devicePixelRatio);
  if (canvas.width === across && canvas.height === down) return;
  canvas.width = across;
  canvas.height = down;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}

function paintBody(brush: Brush, state: GridState, range: CellRange): void {
  const { g, theme } = brush;
  paintSelection(brush, state, range);
  g.fillStyle = theme.line;
  for (let row = range.firstRow; row <= range.lastRow; row += 1) {
    g.fillRect(0, Math.round(rowY(state, row + 1)) - 1, state.width, 1);
  }
  const columns = columnPlaces(brush, state, range);
  for (const { left, width } of columns) g.fillRect(Math.round(left + width) - 1, HEAD_PX, 1, state.height);
  paintTexts(brush, state, range, columns);
  paintFocus(brush, state);
  paintGutter(brush, state, range);
}

function paintSelection({ g, theme }: Brush, state: GridState, range: CellRange): void {
  const selected = selectedRange(state.selection);
  const firstRow = Math.max(selected.firstRow, range.firstRow);
  const lastRow = Math.min(selected.lastRow, range.lastRow);
  const firstColumn = Math.max(selected.firstColumn, range.firstColumn);
  const lastColumn = Math.min(selected.lastColumn, range.lastColumn);
  const isOne = selected.firstRow === selected.lastRow && selected.firstColumn === selected.lastColumn;
  if (isOne || firstRow > lastRow || firstColumn > lastColumn) return;
  g.fillStyle = theme.selection;
  const x = columnX(state, firstColumn);
  const y = rowY(state, firstRow);
  g.fillRect(x, y, columnX(state, lastColumn + 1) - x, rowY(state, lastRow + 1) - y);
}

function paintFocus({ g, theme }: Brush, state: GridState): void {
  const { row, column } = state.selection;
  if (state.source.columns.length === 0) return;
  g.strokeStyle = state.hasFocus ? theme.focus : theme.dim;
  g.lineWidth = state.hasFocus ? 2 : 1;
  g.strokeRect(columnX(state, column) + 1, rowY(state, row) + 0.5, state.widths.widthOf(column) - 2, state.rowPx - 2);
}

function paintGutter({ g, theme }: Brush, state: GridState, range: CellRange): void {
  const width = gutterPx(state);
  g.fillStyle = theme.head;
  g.fillRect(0, HEAD_PX, width, state.height);
  g.fillStyle = theme.line;
  g.fillRect(width - 1, HEAD_PX, 1, state.height);
  g.fillStyle = theme.dim;
  g.textAlign = 'right';
  for (let row = range.firstRow; row <= range.lastRow; row += 1) {
    g.fillText(String(row + 1), width - CELL_PADDING_PX, rowY(state, row) + state.rowPx / 2);
  }
}

function paintHead(brush: Brush, state: GridState): void {
  const { g, theme } = brush;
  const gutter = gutterPx(state);
  g.fillStyle = theme.head;
  g.fillRect(0, 0, state.width, HEAD_PX);
  const last = state.widths.columnAt(state.left + state.width);
  for (let column = state.widths.columnAt(state.left); column <= last; column += 1)
    paintColumnHead(brush, state, column);
  g.fillStyle = theme.head;
  g.fillRect(0, 0, gutter, HEAD_PX);
  g.fillStyle = theme.line;
  g.fillRect(gutter - 1, 0, 1, HEAD_PX);
  g.fillRect(0, HEAD_PX - 1, state.width, 1);
}

function paintColumnHead({ g, theme, characterPx }: Brush, state: GridState, column: number): void {
  const info = state.source.columns[column];
  if (info === undefined) return;
  const isRight = isNumeric(info);
  const left = columnX(state, column) + PADDING * characterPx;
  const width = state.widths.widthOf(column);
  const room = width - 2 * PADDING * characterPx;
  const x = isRight ? left + room : left;
  g.textAlign = isRight ? 'right' : 'left';
  g.fillStyle = theme.text;
  paintClipped(g, visibleText(info.name), { x, y: 14, left, room, rowPx: 24 });
  g.fillStyle = theme.dim;
  paintClipped(g, info.type, { x, y: 30, left, room, rowPx: 20 });
  g.fillStyle = theme.line;
  g.fillRect(Math.round(columnX(state, column) + width) - 1, 0, 1, HEAD_PX);
}
