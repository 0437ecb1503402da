import { columnX, extendTo, type GridPoint, gridSize, moveSelection, pointAt, selectCell } from './grid-state.ts';
import type { GridView } from './grid-view.ts';

/** What a key or a click asks for, other than to move. */
export type GridCommand = 'open' | 'copy' | 'copy-with-heads' | 'go-to' | 'sort' | 'filter';

const RESIZE_STEP_PX = 16;

/** Lets the keyboard and the mouse move, select and resize. */
export function listenToInput(view: GridView, run: (command: GridCommand) => void): void {
  const { scroller, state } = view;
  scroller.addEventListener('keydown', (event) => {
    if (pressed(view, event, run)) event.preventDefault();
  });
  scroller.addEventListener('focus', () => {
    state.hasFocus = true;
    view.repaint();
  });
  scroller.addEventListener('blur', () => {
    state.hasFocus = false;
    view.repaint();
  });
  scroller.addEventListener('dblclick', (event) => {
    const { area, edge } = pointOf(view, event);
    if (edge !== undefined) view.fitColumn(edge);
    else if (area === 'cell') run('open');
  });
  listenToPointer(view);
}

/** Handles a key; true if the grid uses it. */
function pressed(view: GridView, event: KeyboardEvent, run: (command: GridCommand) => void): boolean {
  const { state } = view;
  const isControl = event.ctrlKey || event.metaKey;
  if (event.altKey) return event.shiftKey && resized(view, event.key);
  const command = commandOf(event, isControl);
  if (command !== undefined) {
    run(command);
    return true;
  }
  const key = event.key === 'A' ? 'a' : event.key;
  const moved = moveSelection(state.selection, { key, isControl, isShift: event.shiftKey }, gridSize(state));
  if (moved === undefined) return false;
  view.select(moved);
  return true;
}

function commandOf({ key, shiftKey }: KeyboardEvent, isControl: boolean): GridCommand | undefined {
  if (isControl) {
    switch (key) {
      case 'c':
      case 'C':
        // The browser copies a selected text of a cell.
        if (getSelection()?.isCollapsed === false) return undefined;
        return shiftKey ? 'copy-with-heads' : 'copy';
      case 'g':
      case 'G':
        return 'go-to';
      default:
        return undefined;
    }
  }
  if (shiftKey) return undefined;
  return ({ ' ': 'open', Enter: 'open', s: 'sort', f: 'filter' } as const)[key];
}

function resized(view: GridView, key: string): boolean {
  const { column } = view.state.selection;
  const step = key === 'ArrowRight' ? RESIZE_STEP_PX : key === 'ArrowLeft' ? -RESIZE_STEP_PX : 0;
  if (step === 0) return false;
  view.resizeColumn(column, view.state.widths.widthOf(column) + step);
  return true;
}

function pointOf(view: GridView, event: MouseEvent): GridPoint {
  const { left, top } = view.element.getBoundingClientRect();
  return pointAt(view.state, event.clientX - left, event.clientY - top);
}

function listenToPointer(view: GridView): void {
  const { scroller } = view;
  let drag: { readonly kind: 'cells' } | { readonly kind: 'edge'; readonly column: number } | undefined;
  scroller.addEventListener('pointerdown', (event) => {
    const { left, top } = view.element.getBoundingClientRect();
    const isBar = event.clientX - left >= view.state.width || event.clientY - top >= view.state.height;
    if (isBar || event.button !== 0 || event.pointerType === 'touch') return;
    const point = pointOf(view, event);
    drag = point.edge === undefined ? { kind: 'cells' } : { kind: 'edge', column: point.edge };
    if (drag.kind === 'cells') start(view, point, event.shiftKey);
    else scroller.setPointerCapture(event.pointerId);
  });
  scroller.addEventListener('pointermove', (event) => {
    const point = pointOf(view, event);
    scroller.dataset['over'] = point.edge === undefined && drag?.kind !== 'edge' ? 'cell' : 'edge';
    if (drag === undefined || event.buttons === 0) return;
    if (drag.kind === 'edge') {
      const { left } = view.element.getBoundingClientRect();
      view.resizeColumn(drag.column, event.clientX - left - columnX(view.state, drag.column));
    } else {
      drawOut(view, point);
    }
  });
  const end = (): void => {
    drag = undefined;
  };
  scroller.addEventListener('pointerup', end);
  scroller.addEventListener('pointercancel', end);
  scroller.addEventListener('click', (event) => {
    if (event instanceof PointerEvent && event.pointerType === 'touch') start(view, pointOf(view, event), false);
  });
}

/** A click selects a cell; one on a head or a row number the whole column or row. */
function start(view: GridView, { area, row, column }: GridPoint, isExtended: boolean): void {
  const { rows, columns } = gridSize(view.state);
  if (rows === 0 || columns === 0) return;
  const { state } = view;
  if (area === 'cell') {
    view.select(isExtended ? extendTo(state.selection, row, column) : selectCell(row, column));
    return;
  }
  const isHead = area !== 'gutter';
  const isGutter = area !== 'head';
  // The selection starts at the visible end: the view does not move.
  state.selection = {
    row: isHead ? 0 : row,
    column: isGutter ? 0 : column,
    anchorRow: isHead ? rows - 1 : row,
    anchorColumn: isGutter ? columns - 1 : column,
  };
  view.repaint();
}

/** Extends the selection to where the mouse is; the texts of the cells between are not selected, too. */
function drawOut(view: GridView, { area, row, column }: GridPoint): void {
  const { selection } = view.state;
  if (area !== 'cell' || (selection.row === row && selection.column === column)) return;
  getSelection()?.removeAllRanges();
  view.select(extendTo(selection, row, column));
}
