import { signal } from '@preact/signals';
import type { Api } from '../api/api.ts';
import type { FrameInfo } from '../api/types.ts';
import { type CellBlock, rowsOfBlock } from './cell-block.ts';
import { FrameReplaced, type LoadRequest, loadWindow, TooManyBytes } from './load-window.ts';
import { createRetries } from './retries.ts';
import type { Cell, CellRange, RowSource } from './row-source.ts';
import { createWindowLoader } from './window-loader.ts';
import { createWindowPlan, type Window, type WindowPlan } from './windows.ts';

/** Browsers open six connections to a server: the others are for queries and the catalogue. */
const MAX_REQUESTS = 3;
const MAX_WINDOW_BYTES = 8 * 1024 * 1024;
const MAX_CELL_BYTES = 256 * 1024 * 1024;
const CACHE = { maxBlocks: 96, maxBytes: 24 * 1024 * 1024 };
/** Rows around the visible ones that are loaded ahead, unless the view has jumped. */
const AHEAD_ROWS = 128;

/** A value that does not fit into a window: it opens alone. */
const LARGE_CELL: Cell = { text: '\u2026', look: 'cut' };

/** Creates the rows of a frame, which come in windows when they are wanted. `maxRows` is the server's limit. */
export function createFrameRows(api: Api, frame: FrameInfo, maxRows: number | null): RowSource {
  const plan = createWindowPlan(frame.columns, frame.rows, maxRows);
  const blocks = createBlocks(plan);
  const revision = signal(0);
  const isOutdated = signal(false);
  let range: CellRange | undefined;
  const retries = createRetries(() => loader.setPaused(false));
  const loader = createWindowLoader({
    maxRequests: MAX_REQUESTS,
    isSettled: (key) => blocks.isSettled(key),
    canJoin: (first, second) => canJoin(first, second, maxRows),
    async load(windows, aborted) {
      try {
        blocks.add(windows, await loadWindow(api, frame, requestFor(windows, aborted)));
        retries.succeed();
      } catch (error) {
        if (aborted.aborted) return;
        failed(windows, error);
      }
      revision.value += 1;
    },
  });

  function failed(windows: readonly Window[], error: unknown): void {
    if (error instanceof TooManyBytes) {
      for (const window of windows) blocks.split(window);
      if (range !== undefined) loader.want(plan.windowsOf(range));
      return;
    }
    loader.setPaused(true);
    if (error instanceof FrameReplaced) isOutdated.value = true;
    else retries.fail(error);
  }

  return {
    columns: frame.columns,
    rowCount: signal(frame.rows),
    revision,
    failure: retries.failure,
    isOutdated,
    cell: (row, column) => blocks.cell(row, column),
    want(next) {
      const visible = plan.windowsOf(next);
      const ahead = range === undefined ? [] : plan.windowsOf(rangeAhead(next, range));
      range = next;
      blocks.touch(visible);
      loader.want([...visible, ...ahead.filter(({ key }) => visible.every((window) => window.key !== key))]);
    },
    async wholeText(row, column, aborted = new AbortController().signal) {
      const text = blocks.text(row, column);
      if (text !== undefined) return text ?? 'null';
      const group = { first: column, last: column, isJson: plan.windowAt(row, column).group.isJson };
      const request = { firstRow: row, lastRow: row, group, maxBytes: MAX_CELL_BYTES, signal: aborted };
      return (await loadWindow(api, frame, request)).text(0, 0) ?? 'null';
    },
    retry: () => retries.retry(),
    close() {
      retries.close();
      loader.close();
    },
  };
}

/** The cells that are loaded. */
interface Blocks {
  /** Adds a block with the rows of some windows, one after the other. */
  add(windows: readonly Window[], block: CellBlock): void;
  /** The window has too many bytes: it is divided, or never loaded. */
  split(window: Window): void;
  isSettled(key: string): boolean;
  touch(windows: readonly Window[]): void;
  cell(row: number, column: number): Cell | undefined;
  /** Returns the whole text of a value, null for null; undefined if it is not loaded. */
  text(row: number, column: number): string | null | undefined;
}

function createBlocks(plan: WindowPlan): Blocks {
  const cache = createBlockCache(CACHE);
  const large = new Set<string>();
  // The cells of a paint are in one or two windows: the last one is kept.
  let last: { readonly window: Window; readonly block: CellBlock } | undefined;

  function find(row: number, column: number): typeof last {
    if (last !== undefined && isInside(last.window, row, column)) return last;
    const window = plan.windowAt(row, column);
    const block = cache.get(window.key);
    if (block === undefined) return undefined;
    last = { window, block };
    return last;
  }

  return {
    add(windows, block) {
      const start = windows[0]?.firstRow ?? 0;
      for (const { key, firstRow, lastRow } of windows) {
        cache.set(key, rowsOfBlock(block, firstRow - start, lastRow - start));
      }
    },
    split(window) {
      if (!plan.split(window)) large.add(window.key);
      last = undefined;
    },
    isSettled: (key) => cache.get(key) !== undefined || large.has(key),
    touch: (windows) => {
      for (const { key } of windows) cache.touch(key);
    },
    cell(row, column) {
      const found = find(row, column);
      if (found !== undefined) return found.block.cell(row - found.window.firstRow, column - found.window.group.first);
      return large.size > 0 && large.has(plan.windowAt(row, column).key) ? LARGE_CELL : undefined;
    },
    text(row, column) {
      const found = find(row, column);
      return found?.block.text(row - found.window.firstRow, column - found.window.group.first);
    },
  };
}

/** Two windows of the same columns, one below the other, that are not too many rows for the server together. */
function canJoin(first: Window, second: Window, maxRows: number | null): boolean {
  const rows = second.lastRow - first.firstRow + 1;
  const isBelow = second.firstRow === first.lastRow + 1 && second.level === first.level;
  return isBelow && second.group === first.group && first.level === 0 && (maxRows === null || rows <= maxRows);
}

function requestFor(windows: readonly Window[], aborted: AbortSignal): LoadRequest {
  const [first] = windows;
  if (first === undefined) throw new RangeError('There is no window to load.');
  const { firstRow, group } = first;
  const lastRow = windows.at(-1)?.lastRow ?? first.lastRow;
  return { firstRow, lastRow, group, maxBytes: MAX_WINDOW_BYTES, signal: aborted };
}

function isInside({ firstRow, lastRow, group }: Window, row: number, column: number): boolean {
  return row >= firstRow && row <= lastRow && column >= group.first && column <= group.last;
}

/** Rows in the direction of the last move; none after a jump. */
function rangeAhead(range: CellRange, before: CellRange): CellRange {
  const moved = range.firstRow - before.firstRow;
  if (Math.abs(moved) > AHEAD_ROWS) return range;
  return moved < 0
    ? { ...range, firstRow: Math.max(0, range.firstRow - AHEAD_ROWS) }
    : { ...range, lastRow: range.lastRow + AHEAD_ROWS };
}

/** An LRU cache of blocks, limited by their number and their bytes. */
interface BlockCache {
  get(key: string): CellBlock | undefined;
  set(key: string, block: CellBlock): void;
  /** Marks a block as used. */
  touch(key: string): void;
  clear(): void;
}

/** Creates a cache. The block that was set last always stays. */
function createBlockCache({ maxBlocks, maxBytes }: { maxBlocks: number; maxBytes: number }): BlockCache {
  const blocks = new Map<string, CellBlock>();
  let bytes = 0;
  return {
    get: (key) => blocks.get(key),
    set(key, block) {
      bytes += block.bytes - (blocks.get(key)?.bytes ?? 0);
      blocks.delete(key);
      blocks.set(key, block);
      for (const [oldest, { bytes: freed }] of blocks) {
        if (blocks.size === 1 || (blocks.size <= maxBlocks && bytes <= maxBytes)) break;
        blocks.delete(oldest);
        bytes -= freed;
      }
    },
    touch(key) {
      const block = blocks.get(key);
      if (block === undefined) return;
      blocks.delete(key);
      blocks.set(key, block);
    },
    clear() {
      blocks.clear();
      bytes = 0;
    },
  };
}
