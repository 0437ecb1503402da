import type { Cell, CellRange } from '../rows/row-source.ts';
import { isNumeric, sizeText } from './columns.ts';
import { columnX, type GridState, rowY } from './grid-state.ts';
import type { GridTheme } from './theme.ts';

/** What the grid is painted with. */
export interface Brush {
  readonly g: CanvasRenderingContext2D;
  readonly theme: GridTheme;
  readonly characterPx: number;
}

/** Texts whose characters all have the same width. */
export const ASCII: RegExp = /^[\x20-\x7e]*$/;

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
export const PADDING = 1;

/** Returns where the visible columns are. */
export function columnPlaces({ characterPx }: Brush, state: GridState, range: CellRange): readonly ColumnPlace[] {
  const places: ColumnPlace[] = [];
  let start = 0;
  for (let column = range.firstColumn; column <= range.lastColumn; column += 1) {
    const info = state.source.columns[column];
    if (info === undefined) continue;
    const width = state.widths.widthOf(column);
    const characters = Math.round(width / characterPx);
    const place = { column, left: columnX(state, column), width, start, room: characters - 2 * PADDING };
    places.push({ ...place, isRight: isNumeric(info) });
    start += characters;
  }
  return places;
}

/** A cell that is painted by itself, after the others: changing colours and fonts is slow. */
interface OtherCell {
  readonly cell: Cell | undefined;
  readonly place: ColumnPlace;
  readonly y: number;
}

/** Paints the texts of all visible cells. */
export function paintTexts(brush: Brush, state: GridState, range: CellRange, columns: readonly ColumnPlace[]): void {
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
export function paintClipped(g: CanvasRenderingContext2D, text: string, { x, y, left, room, rowPx }: ClipBox): void {
  g.save();
  g.beginPath();
  g.rect(left, y - rowPx / 2, room, rowPx);
  g.clip();
  g.fillText(text, x, y);
  g.restore();
}
