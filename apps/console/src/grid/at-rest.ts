import { isNumericType } from '@svc/client/internal';
import { type Cell, visibleText } from '../rows/row-source.ts';
import {
  columnX,
  type GridState,
  gutterPx,
  HEAD_PX,
  rowY,
  selectedRange,
  sizeText,
  visibleRange,
} from './grid-state.ts';

/** The id of a cell at rest, for the grid's `aria-activedescendant`. */
export function cellId(gridId: string, row: number, column: number): string {
  return `${gridId}-${row}-${column}`;
}

/** A part has this many cells, about: the page lays it out in one frame. */
const PART_CELLS = 160;

/**
 * Writes the visible rows into a layer above the canvas: for screen readers, for selecting text and for finding it. Each step
 * writes a part.
 */
export function* writeAtRest(layer: HTMLElement, state: GridState, gridId: string): Generator<void, void> {
  const range = visibleRange(state);
  const [firstColumn, lastColumn] = visibleColumns(state);
  const partRows = Math.ceil(PART_CELLS / (lastColumn - firstColumn + 2));
  layer.replaceChildren(headRow(state));
  if (range === undefined) return;
  for (let row = range.firstRow; row <= range.lastRow; row += 1) {
    if (row > range.firstRow && (row - range.firstRow) % partRows === 0) yield;
    layer.append(bodyRow(state, row, gridId));
  }
}

/** Marks the selected cells of the layer. */
export function markSelected(layer: HTMLElement, { selection }: GridState): void {
  const { firstRow, lastRow, firstColumn, lastColumn } = selectedRange(selection);
  for (const cell of layer.querySelectorAll<HTMLElement>('[role=gridcell]')) {
    const row = Number(cell.dataset['row']);
    const column = Number(cell.dataset['column']);
    const isSelected = row >= firstRow && row <= lastRow && column >= firstColumn && column <= lastColumn;
    cell.setAttribute('aria-selected', String(isSelected));
  }
}

function headRow(state: GridState): HTMLElement {
  const row = rowElement(1, 0, HEAD_PX);
  const corner = box('columnheader', 0, gutterPx(state), 1);
  corner.textContent = 'Row';
  row.append(corner);
  const [first, last] = visibleColumns(state);
  for (let column = first; column <= last; column += 1) {
    const info = state.source.columns[column];
    if (info === undefined) continue;
    const head = box('columnheader', columnX(state, column), state.widths.widthOf(column), column + 2);
    const name = document.createElement('span');
    name.textContent = visibleText(info.name);
    const type = document.createElement('span');
    type.className = 'grid-rest-type';
    type.textContent = info.type;
    head.append(name, type);
    row.append(head);
  }
  return row;
}

function bodyRow(state: GridState, row: number, gridId: string): HTMLElement {
  const element = rowElement(row + 2, rowY(state, row), state.rowPx);
  const number = box('rowheader', 0, gutterPx(state), 1);
  number.textContent = String(row + 1);
  element.append(number);
  const [first, last] = visibleColumns(state);
  for (let column = first; column <= last; column += 1) {
    const info = state.source.columns[column];
    if (info === undefined) continue;
    const cell = box('gridcell', columnX(state, column), state.widths.widthOf(column), column + 2);
    cell.id = cellId(gridId, row, column);
    cell.dataset['row'] = String(row);
    cell.dataset['column'] = String(column);
    if (isNumericType(info.type)) cell.classList.add('grid-rest-number');
    writeCell(cell, state.source.cell(row, column));
    element.append(cell);
  }
  return element;
}

function writeCell(element: HTMLElement, cell: Cell | undefined): void {
  if (cell === undefined) {
    element.setAttribute('aria-busy', 'true');
    return;
  }
  element.textContent = cell.text;
  element.dataset['look'] = cell.look;
  if (cell.look === 'empty') element.setAttribute('aria-label', 'empty text');
  if (cell.look === 'cut') element.setAttribute('aria-description', `cut ${sizeText(cell)}`);
}

function visibleColumns(state: GridState): readonly [number, number] {
  if (state.source.columns.length === 0) return [0, -1];
  const right = state.left + Math.max(0, state.width - gutterPx(state));
  return [state.widths.columnAt(state.left), state.widths.columnAt(right)];
}

function rowElement(index: number, top: number, height: number): HTMLElement {
  const row = document.createElement('div');
  row.role = 'row';
  row.ariaRowIndex = String(index);
  row.className = 'grid-rest-row';
  row.style.top = `${top}px`;
  row.style.height = `${height}px`;
  row.style.lineHeight = `${height}px`;
  return row;
}

function box(role: string, left: number, width: number, index: number): HTMLElement {
  const element = document.createElement('div');
  element.role = role;
  element.ariaColIndex = String(index);
  element.style.left = `${left}px`;
  element.style.width = `${width}px`;
  return element;
}
