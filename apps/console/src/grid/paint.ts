import type { Cell, CellRange } from '../rows/row-source.ts';
import { visibleText } from '../rows/visible-text.ts';
import { CELL_PADDING_PX, isNumeric, sizeText } from './columns.ts';
import { columnX, type GridState, gutterPx, HEAD_PX, rowY, visibleRange } from './grid-state.ts';
import { selectedRange } from './selection.ts';
import type { GridTheme } from './theme.ts';

/** Paints the grid on a canvas. */
export interface Painter {
  /** The width of a text in the grid's font. */
  measure(text: string): number;
  setTheme(theme: GridTheme): void;
  paint(state: GridState): void;
}

const ASCII = /^[\x20-\x7e]*$/;

interface Brush {
  readonly g: CanvasRenderingContext2D;
  readonly theme: GridTheme;
  readonly characterPx: number;
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
  for (let column = range.firstColumn; column <= range.lastColumn; column += 1)
    paintColumn(brush, state, range, column);
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

/** A text in another style, which is painted after all others: changing the font is slow. */
interface DimText {
  readonly text: string;
  readonly x: number;
  readonly y: number;
}

function paintColumn(brush: Brush, state: GridState, range: CellRange, column: number): void {
  const { g, theme } = brush;
  const info = state.source.columns[column];
  if (info === undefined) return;
  const isRight = isNumeric(info);
  const left = columnX(state, column);
  const width = state.widths.widthOf(column);
  const x = isRight ? left + width - CELL_PADDING_PX : left + CELL_PADDING_PX;
  const room = width - 2 * CELL_PADDING_PX;
  const dim: DimText[] = [];
  g.textAlign = isRight ? 'right' : 'left';
  g.fillStyle = theme.text;
  for (let row = range.firstRow; row <= range.lastRow; row += 1) {
    const cell = state.source.cell(row, column);
    const y = rowY(state, row) + state.rowPx / 2;
    if (cell === undefined) paintMissing(brush, left, y, width);
    else if (cell.look === 'null' || cell.look === 'empty' || cell.look === 'nan') dim.push({ text: cell.text, x, y });
    else paintCell(brush, cell, { x, y, left, room, rowPx: state.rowPx });
  }
  g.fillStyle = theme.line;
  g.fillRect(left + width - 1, HEAD_PX, 1, state.height);
  if (dim.length === 0) return;
  g.font = `italic ${theme.font}`;
  g.fillStyle = theme.dim;
  for (const { text, x: at, y } of dim) g.fillText(text, at, y);
  g.font = theme.font;
}

function paintMissing({ g, theme }: Brush, left: number, y: number, width: number): void {
  g.fillStyle = theme.line;
  g.fillRect(left + CELL_PADDING_PX, y - 3, Math.min(60, width - 2 * CELL_PADDING_PX), 6);
  g.fillStyle = theme.text;
}

interface CellBox {
  readonly x: number;
  readonly y: number;
  readonly left: number;
  readonly room: number;
  readonly rowPx: number;
}

function paintCell({ g, theme, characterPx }: Brush, cell: Cell, { x, y, left, room, rowPx }: CellBox): void {
  const size = sizeText(cell);
  const space = size === '' ? room : room - size.length * characterPx;
  if (size !== '') {
    g.textAlign = 'right';
    g.fillStyle = theme.dim;
    g.fillText(size, left + CELL_PADDING_PX + room, y);
    g.fillStyle = theme.text;
    g.textAlign = 'left';
  }
  const { text } = cell;
  if (!ASCII.test(text)) {
    paintClipped(g, text, { x, y, left, room: space, rowPx });
    return;
  }
  const most = Math.floor(space / characterPx + 0.01);
  const isLong = text.length > most;
  // The start of a value is shown, also of numbers, whose end would look like another number.
  g.fillText(isLong ? `${text.slice(0, Math.max(0, most - 1))}\u2026` : text, x, y);
}

/** Other characters have other widths: the text is clipped. */
function paintClipped(g: CanvasRenderingContext2D, text: string, { x, y, left, room, rowPx }: CellBox): void {
  g.save();
  g.beginPath();
  g.rect(left + CELL_PADDING_PX, y - rowPx / 2, room, rowPx);
  g.clip();
  g.fillText(text, x, y);
  g.restore();
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

function paintColumnHead({ g, theme }: Brush, state: GridState, column: number): void {
  const info = state.source.columns[column];
  if (info === undefined) return;
  const isRight = isNumeric(info);
  const left = columnX(state, column);
  const width = state.widths.widthOf(column);
  const room = width - 2 * CELL_PADDING_PX;
  const x = isRight ? left + width - CELL_PADDING_PX : left + CELL_PADDING_PX;
  g.textAlign = isRight ? 'right' : 'left';
  g.fillStyle = theme.text;
  paintClipped(g, visibleText(info.name), { x, y: 14, left, room, rowPx: 24 });
  g.fillStyle = theme.dim;
  paintClipped(g, info.type, { x, y: 30, left, room, rowPx: 20 });
  g.fillStyle = theme.line;
  g.fillRect(left + width - 1, 0, 1, HEAD_PX);
}
