import { visibleText } from '../rows/visible-text.ts';
import { sizeText } from './columns.ts';
import { type GridState, visibleRange } from './grid-state.ts';
import type { Painter } from './paint.ts';

/** What the widths of columns come from. */
interface Fitted {
  readonly state: GridState;
  readonly painter: Painter;
}

/** Sets the widths of columns whose first cells have come; true if one has changed. */
export function measureNew(parts: Fitted, first: number, last: number): boolean {
  const { widths } = parts.state;
  const before = widths.totalPx;
  for (let column = first; column <= last; column += 1) if (!widths.isMeasured(column)) measureColumn(parts, column);
  return widths.totalPx !== before;
}

/** Fits a column to its first cells in view. */
export function measureColumn(parts: Fitted, column: number): void {
  const info = parts.state.source.columns[column];
  const textPx = textWidth(parts, column);
  if (info === undefined || textPx === undefined) return;
  const { painter } = parts;
  parts.state.widths.fit(column, Math.max(textPx, painter.measure(visibleText(info.name)), painter.measure(info.type)));
}

/** The width of the widest text of a column in view; undefined if none is loaded. */
function textWidth({ state, painter }: Fitted, column: number): number | undefined {
  const range = visibleRange(state);
  if (range === undefined) return undefined;
  let width: number | undefined;
  for (let row = range.firstRow; row <= range.lastRow; row += 1) {
    const cell = state.source.cell(row, column);
    if (cell === undefined) continue;
    width = Math.max(width ?? 0, painter.measure(cell.text) + painter.measure(sizeText(cell)));
  }
  return width;
}

/** Widens the columns in view whose texts are now longer than those they were fitted to; true if one has changed. */
export function growColumns(parts: Fitted): boolean {
  const { widths } = parts.state;
  const range = visibleRange(parts.state);
  const before = widths.totalPx;
  for (let column = range?.firstColumn ?? 0; column <= (range?.lastColumn ?? -1); column += 1) {
    const textPx = textWidth(parts, column);
    if (textPx !== undefined) widths.grow(column, textPx);
  }
  return widths.totalPx !== before;
}
