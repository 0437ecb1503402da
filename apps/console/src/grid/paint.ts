import { isNumericType } from '@svc/client/internal';
import { type Cell, type CellRange, visibleText } from '../rows/row-source.ts';
import {
  CELL_PADDING_PX,
  columnX,
  type GridState,
  gutterPx,
  HEAD_PX,
  rowY,
  selectedRange,
  sizeText,
  visibleRange,
} from './grid-state.ts';

/** Paints the grid on a canvas. */
export interface Painter {
  /** The width of an ASCII character in the grid's font. */
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
  const isRight = isNumericType(info.type);
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

/** What the grid is painted with. */
interface Brush {
  readonly g: CanvasRenderingContext2D;
  readonly theme: GridTheme;
  readonly characterPx: number;
}

/** Texts whose characters all have the same width. */
const ASCII: RegExp = /^[\x20-\x7e]*$/;

/** Where a column is: in pixels of the grid, and in characters from the first visible column. */
interface ColumnPlace {
  readonly column: number;
  readonly left: number;
  readonly width: number;
  readonly start: number;
  /** How many characters its texts may have. */
  readonly room: number;
  readonly isRight: boolean;
}

/** The characters left and right of a text. */
const PADDING = 1;

/** Returns where the visible columns are. */
function columnPlaces({ characterPx }: Brush, state: GridState, range: CellRange): readonly ColumnPlace[] {
  const places: ColumnPlace[] = [];
  let start = 0;
  for (let column = range.firstColumn; column <= range.lastColumn; column += 1) {
    const info = state.source.columns[column];
    if (info === undefined) continue;
    const width = state.widths.widthOf(column);
    const characters = Math.round(width / characterPx);
    const place = { column, left: columnX(state, column), width, start, room: characters - 2 * PADDING };
    places.push({ ...place, isRight: isNumericType(info.type) });
    start += characters;
  }
  return places;
}

/** A cell painted after the others: changing colours and fonts is slow. */
interface OtherCell {
  readonly cell: Cell | undefined;
  readonly place: ColumnPlace;
  readonly y: number;
}

/** Paints the texts of all visible cells. */
function paintTexts(brush: Brush, state: GridState, range: CellRange, columns: readonly ColumnPlace[]): void {
  const { g, theme } = brush;
  const others: OtherCell[] = [];
  g.textAlign = 'left';
  g.fillStyle = theme.text;
  for (let row = range.firstRow; row <= range.lastRow; row += 1) {
    paintRow(brush, state, row, columns, others);
  }
  for (const { cell, place, y } of others) {
    if (cell === undefined) paintMissing(brush, place, y);
    else if (!isDim(cell)) paintCell(brush, cell, place, y, state.rowPx);
  }
  const dim = others.filter(({ cell }) => cell !== undefined && isDim(cell));
  if (dim.length === 0) return;
  g.font = `italic ${theme.font}`;
  g.fillStyle = theme.dim;
  for (const { cell, place, y } of dim) paintText(brush, cell?.text ?? '', place, y);
  g.font = theme.font;
}

/** Spaces are painted, too: after more of them another text begins. */
const MAX_SPACES = 12;
/** A browser lays out each word by itself, and a word ends at an ordinary space. */
const SPACE = '\u00a0';

/**
 * Paints the texts of a row, as few and long ones as possible: most of the work is to lay out each. All columns begin at
 * whole characters, and all characters of ASCII have the same width.
 */
function paintRow(
  brush: Brush,
  state: GridState,
  row: number,
  columns: readonly ColumnPlace[],
  others: OtherCell[],
): void {
  const { g, characterPx } = brush;
  const y = rowY(state, row) + state.rowPx / 2;
  const left = columns[0]?.left ?? 0;
  let run = '';
  let runStart = 0;
  const flush = (): void => {
    if (run !== '') g.fillText(run, left + runStart * characterPx, y);
    run = '';
  };
  for (const place of columns) {
    const cell = state.source.cell(row, place.column);
    if (cell?.look !== 'value' || !ASCII.test(cell.text)) {
      others.push({ cell, place, y });
      continue;
    }
    const text = cutText(cell.text, place.room);
    const start = place.start + PADDING + (place.isRight ? place.room - text.length : 0);
    const spaces = start - runStart - run.length;
    if (run === '' || spaces > MAX_SPACES) {
      flush();
      run = text;
      runStart = start;
    } else {
      run += SPACE.repeat(spaces) + text;
    }
    // The width of the ellipsis is another one.
    if (text !== cell.text) flush();
  }
  flush();
}

/** The start of a value is shown, also of numbers, whose end would look like another number. */
function cutText(text: string, room: number): string {
  return text.length > room ? `${text.slice(0, Math.max(0, room - 1))}\u2026` : text;
}

const isDim = ({ look }: Cell): boolean => look === 'null' || look === 'empty' || look === 'nan';

function paintText({ g, characterPx }: Brush, text: string, { left, width, isRight }: ColumnPlace, y: number): void {
  const padding = PADDING * characterPx;
  g.textAlign = isRight ? 'right' : 'left';
  g.fillText(text, isRight ? left + width - padding : left + padding, y);
}

function paintMissing({ g, theme, characterPx }: Brush, { left, room }: ColumnPlace, y: number): void {
  g.fillStyle = theme.line;
  g.fillRect(left + PADDING * characterPx, y - 3, Math.min(60, room * characterPx), 6);
}

function paintCell(brush: Brush, cell: Cell, place: ColumnPlace, y: number, rowPx: number): void {
  const { g, theme, characterPx } = brush;
  const size = sizeText(cell);
  const room = place.room - size.length;
  if (size !== '') {
    g.fillStyle = theme.dim;
    paintText(brush, size, { ...place, isRight: true }, y);
  }
  g.fillStyle = theme.text;
  if (ASCII.test(cell.text)) {
    // The size begins with an ellipsis of its own.
    const text = size === '' ? cutText(cell.text, room) : cell.text.slice(0, Math.max(0, room));
    paintText(brush, text, { ...place, isRight: place.isRight && size === '' }, y);
    return;
  }
  const x = place.left + PADDING * characterPx;
  g.textAlign = 'left';
  paintClipped(g, cell.text, { x, y, left: x, room: room * characterPx, rowPx });
}

interface ClipBox {
  readonly x: number;
  readonly y: number;
  readonly left: number;
  readonly room: number;
  readonly rowPx: number;
}

/** Other characters have other widths: the text is clipped. */
function paintClipped(g: CanvasRenderingContext2D, text: string, { x, y, left, room, rowPx }: ClipBox): void {
  g.save();
  g.beginPath();
  g.rect(left, y - rowPx / 2, room, rowPx);
  g.clip();
  g.fillText(text, x, y);
  g.restore();
}

const INKS = ['text', 'dim', 'line', 'background', 'head', 'selection', 'focus'] as const;
type Ink = (typeof INKS)[number];

/** The colours and the font of the canvas. */
type GridTheme = Readonly<Record<Ink | 'font', string>>;

/** Reads the colours of the style sheet, and reports when they change. */
export interface ThemeProbe {
  readonly element: HTMLElement;
  read(): GridTheme;
  close(): void;
}

/** Creates hidden elements whose computed colours are those of the theme: variables alone do not resolve `light-dark()`. */
export function createThemeProbe(changed: () => void): ThemeProbe {
  const element = document.createElement('span');
  element.className = 'grid-inks';
  element.hidden = true;
  const inks = INKS.map((name) => {
    const ink = document.createElement('span');
    ink.className = `grid-ink-${name}`;
    element.append(ink);
    return ink;
  });
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributes: true });
  const queries = ['(prefers-color-scheme: dark)', '(forced-colors: active)', '(prefers-contrast: more)'].map((query) =>
    matchMedia(query),
  );
  for (const query of queries) query.addEventListener('change', changed);
  return {
    element,
    read() {
      const { fontFamily, fontSize } = getComputedStyle(element);
      const colour = (name: Ink): string => getComputedStyle(inks[INKS.indexOf(name)] ?? element).color;
      return {
        text: colour('text'),
        dim: colour('dim'),
        line: colour('line'),
        background: colour('background'),
        head: colour('head'),
        selection: colour('selection'),
        focus: colour('focus'),
        font: `${fontSize} ${fontFamily}`,
      };
    },
    close() {
      observer.disconnect();
      for (const query of queries) query.removeEventListener('change', changed);
    },
  };
}
