import { type RowSource, visibleText } from '../rows/row-source.ts';
import { cellId, markSelected, writeAtRest } from './at-rest.ts';
import {
  clamp,
  columnX,
  contentFromScroll,
  createGridState,
  gridSize,
  type GridState,
  gutterPx,
  HEAD_PX,
  isCompressed,
  scrollFromContent,
  scrollSizes,
  type Selection,
  sizeText,
  spacerPx,
  visibleRange,
} from './grid-state.ts';
import { createPainter, createThemeProbe, type Painter, type ThemeProbe } from './paint.ts';

/** The layer for screen readers is written this long after the last move. */
const REST_MS = 120;
/** How long after a turn of the wheel its scroll events can come. */
const WHEEL_MS = 400;

/** The grid's elements and what they show. The canvas always paints; the layer at rest follows when nothing moves. */
export interface GridView {
  readonly id: string;
  readonly state: GridState;
  readonly element: HTMLElement;
  /** The scrolling element. It has the focus and is the grid for screen readers. */
  readonly scroller: HTMLElement;
  /** Paints again before the next frame. */
  repaint(): void;
  /** Moves the focus to a cell and shows it. */
  select(selection: Selection): void;
  /** Shows a row at the top of the view, if it is not visible. */
  reveal(row: number, column: number): void;
  /** Fits a column to the texts in view. */
  fitColumn(column: number): void;
  resizeColumn(column: number, px: number): void;
  close(): void;
}

interface Parts {
  readonly id: string;
  readonly state: GridState;
  readonly element: HTMLElement;
  readonly scroller: HTMLElement;
  readonly spacer: HTMLElement;
  readonly rest: HTMLElement;
  readonly painter: Painter;
  readonly probe: ThemeProbe;
  frame: number;
  restTimer: ReturnType<typeof setTimeout> | undefined;
  /** When the layer at rest may be written. */
  restAtMs: number;
  /** The next frame of the layer at rest. */
  restFrame: number;
  lastScrollTop: number;
  /** Until then scroll events come from the wheel or a finger, and move by their pixels. */
  relativeUntilMs: number;
}

let grids = 0;

/** Creates the grid of a source. Call `close` when it leaves the page. */
export function createGridView(source: RowSource, label: string): GridView {
  const parts = createParts(source, label);
  const { state, element, scroller } = parts;
  const observer = new ResizeObserver(() => resize(parts));
  observer.observe(element);
  listenToScrolls(parts);
  const stops = [source.revision, source.rowCount].map((changed) => changed.subscribe(() => resize(parts)));
  return {
    id: parts.id,
    state,
    element,
    scroller,
    repaint: () => repaint(parts),
    reveal: (row, column) => reveal(parts, row, column),
    select(selection) {
      state.selection = selection;
      reveal(parts, selection.row, selection.column);
      markSelected(parts.rest, state);
      nameActive(parts);
      repaint(parts);
    },
    fitColumn(column) {
      measureColumn(parts, column);
      resize(parts);
    },
    resizeColumn(column, px) {
      state.widths.resize(column, px);
      resize(parts);
    },
    close() {
      for (const stop of stops) stop();
      observer.disconnect();
      parts.probe.close();
      cancelAnimationFrame(parts.frame);
      clearTimeout(parts.restTimer);
      cancelAnimationFrame(parts.restFrame);
    },
  };
}

function createParts(source: RowSource, label: string): Parts {
  const state = createGridState(source);
  const element = div('grid');
  const canvas = document.createElement('canvas');
  canvas.className = 'grid-paint';
  canvas.ariaHidden = 'true';
  const scroller = div('grid-scroll');
  scroller.role = 'grid';
  scroller.tabIndex = 0;
  scroller.ariaLabel = label;
  scroller.ariaMultiSelectable = 'true';
  scroller.ariaReadOnly = 'true';
  const rest = div('grid-rest');
  rest.role = 'presentation';
  const spacer = div('grid-spacer');
  spacer.role = 'presentation';
  scroller.append(rest, spacer);
  const probe = createThemeProbe(() => {
    readTheme(parts);
    repaint(parts);
  });
  element.append(probe.element, canvas, scroller);
  // Colours are read again when the element is on the page and has a size.
  const painter = createPainter(canvas, probe.read());
  grids += 1;
  const parts: Parts = {
    id: `grid-${grids}`,
    state,
    element,
    scroller,
    spacer,
    rest,
    painter,
    probe,
    frame: 0,
    restTimer: undefined,
    restAtMs: 0,
    restFrame: 0,
    lastScrollTop: 0,
    relativeUntilMs: 0,
  };
  return parts;
}

function div(className: string): HTMLElement {
  const element = document.createElement('div');
  element.className = className;
  return element;
}

function readTheme({ painter, probe, state }: Parts): void {
  painter.setTheme(probe.read());
  state.widths.setStep(painter.characterPx);
}

/** Takes over the size of the element and the number of rows. */
function resize(parts: Parts): void {
  const { state, element, scroller, spacer } = parts;
  if (!element.isConnected) return;
  if (state.width === 0) readTheme(parts);
  state.rowPx = Number.parseFloat(getComputedStyle(element).getPropertyValue('--grid-row-height')) || 24;
  const sizes = scrollSizes(state);
  spacer.style.height = `${HEAD_PX + spacerPx(sizes)}px`;
  spacer.style.width = `${gutterPx(state) + state.widths.totalPx}px`;
  state.width = scroller.clientWidth;
  state.height = scroller.clientHeight;
  const { rows, columns } = gridSize(state);
  scroller.ariaRowCount = String(rows + 1);
  scroller.ariaColCount = String(columns + 1);
  const { contentPx, viewPx } = scrollSizes(state);
  if (state.top > Math.max(0, contentPx - viewPx)) place(parts, contentPx);
  repaint(parts);
}

function repaint(parts: Parts): void {
  if (parts.frame !== 0) return;
  parts.frame = requestAnimationFrame(() => {
    parts.frame = 0;
    paint(parts);
  });
}

function paint(parts: Parts): void {
  const { state, painter } = parts;
  if (state.width === 0) return;
  const range = visibleRange(state);
  if (range !== undefined && range.lastColumn >= range.firstColumn) {
    state.source.want(range);
    if (measureNew(parts, range.firstColumn, range.lastColumn)) {
      resize(parts);
    }
  }
  painter.paint(state);
  cancelAnimationFrame(parts.restFrame);
  parts.restAtMs = performance.now() + REST_MS;
  parts.restTimer ??= setTimeout(() => writeRest(parts), REST_MS);
}

function writeRest(parts: Parts): void {
  const { state, rest, id, scroller } = parts;
  // Starting the timer again would be a cost of every frame.
  const leftMs = parts.restAtMs - performance.now();
  parts.restTimer = leftMs > 0 ? setTimeout(() => writeRest(parts), leftMs) : undefined;
  if (leftMs > 0) return;
  if (isCompressed(scrollSizes(state))) place(parts, state.top);
  if (growColumns(parts)) {
    resize(parts);
    return;
  }
  scroller.ariaBusy = 'true';
  continueRest(parts, writeAtRest(rest, state, id));
  rest.hidden = false;
}

/** Writes a part of the layer at rest in each frame. */
function continueRest(parts: Parts, writing: Generator<void, void>): void {
  if (writing.next().done !== true) {
    parts.restFrame = requestAnimationFrame(() => continueRest(parts, writing));
    return;
  }
  parts.scroller.ariaBusy = null;
  markSelected(parts.rest, parts.state);
  nameActive(parts);
}

/** Names the cell with the focus, if it is in the layer. */
function nameActive({ id, state, rest, scroller }: Parts): void {
  const active = cellId(id, state.selection.row, state.selection.column);
  if (!rest.hidden && rest.querySelector(`[id="${active}"]`) !== null) {
    scroller.setAttribute('aria-activedescendant', active);
  } else {
    scroller.removeAttribute('aria-activedescendant');
  }
}

function listenToScrolls(parts: Parts): void {
  const { scroller } = parts;
  const relative = (): void => {
    parts.relativeUntilMs = performance.now() + WHEEL_MS;
  };
  scroller.addEventListener('wheel', relative, { passive: true });
  scroller.addEventListener('touchmove', relative, { passive: true });
  scroller.addEventListener('pointerdown', ({ pointerType }) => {
    if (pointerType === 'mouse') parts.relativeUntilMs = 0;
  });
  scroller.addEventListener('scroll', () => follow(parts), { passive: true });
}

/** Follows the scroll bar. Where it is compressed, the wheel still moves by its pixels; a drag of the bar jumps. */
function follow(parts: Parts): void {
  const { state, scroller, rest } = parts;
  const moved = scroller.scrollTop - parts.lastScrollTop;
  parts.lastScrollTop = scroller.scrollTop;
  state.left = scroller.scrollLeft;
  const sizes = scrollSizes(state);
  const now = performance.now();
  if (moved !== 0) {
    const isRelative = now < parts.relativeUntilMs || Math.abs(moved) <= 2 * sizes.viewPx;
    if (isCompressed(sizes) && isRelative) {
      if (now < parts.relativeUntilMs) parts.relativeUntilMs = now + WHEEL_MS;
      state.top = clamp(state.top + moved, 0, sizes.contentPx - sizes.viewPx);
    } else {
      state.top = contentFromScroll(scroller.scrollTop, sizes);
    }
  }
  if (!rest.hidden) rest.hidden = true;
  repaint(parts);
}

/** Shows a place of the content at the top. */
function place(parts: Parts, content: number): void {
  const { state, scroller, rest } = parts;
  const sizes = scrollSizes(state);
  const top = clamp(content, 0, Math.max(0, sizes.contentPx - sizes.viewPx));
  if (top !== state.top) rest.hidden = true;
  state.top = top;
  scroller.scrollTop = scrollFromContent(top, sizes);
  parts.lastScrollTop = scroller.scrollTop;
}

function reveal(parts: Parts, row: number, column: number): void {
  const { state, scroller } = parts;
  const { viewPx } = scrollSizes(state);
  const top = row * state.rowPx;
  if (top < state.top) place(parts, top);
  else if (top + state.rowPx > state.top + viewPx) place(parts, top + state.rowPx - viewPx);
  const x = columnX(state, column);
  const gutter = gutterPx(state);
  const right = x + state.widths.widthOf(column);
  if (x < gutter) scroller.scrollLeft += x - gutter;
  else if (right > state.width) scroller.scrollLeft += Math.min(right - state.width, x - gutter);
  state.left = scroller.scrollLeft;
  repaint(parts);
}

/** What the widths of columns come from. */
interface Fitted {
  readonly state: GridState;
  readonly painter: Painter;
}

/** Sets the widths of columns whose first cells have come; true if one has changed. */
function measureNew(parts: Fitted, first: number, last: number): boolean {
  const { widths } = parts.state;
  const before = widths.totalPx;
  for (let column = first; column <= last; column += 1) if (!widths.isMeasured(column)) measureColumn(parts, column);
  return widths.totalPx !== before;
}

/** Fits a column to its first cells in view. */
function measureColumn(parts: Fitted, column: number): void {
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
function growColumns(parts: Fitted): boolean {
  const { widths } = parts.state;
  const range = visibleRange(parts.state);
  const before = widths.totalPx;
  for (let column = range?.firstColumn ?? 0; column <= (range?.lastColumn ?? -1); column += 1) {
    const textPx = textWidth(parts, column);
    if (textPx !== undefined) widths.grow(column, textPx);
  }
  return widths.totalPx !== before;
}
