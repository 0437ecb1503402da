import { signal } from '@preact/signals';
import { type Api, askedMs, type FrameInfo, toError } from '../api/api.ts';
import { type CellBlock, rowsOfBlock } from './cell-block.ts';
import {
  createWindowPlan,
  FrameReplaced,
  type LoadRequest,
  loadWindow,
  TooManyBytes,
  type Window,
  type WindowPlan,
} from './windows.ts';
import type { Cell, CellRange, RowSource } from './row-source.ts';
import { ClientError } from '@svc/client/internal';

/** Browsers open six connections to a server: the others are for queries and the catalogue. */
const MAX_REQUESTS = 3;
const MAX_WINDOW_BYTES = 8 * 1024 * 1024;
const MAX_CELL_BYTES = 256 * 1024 * 1024;
const CACHE = { maxBlocks: 96, maxBytes: 24 * 1024 * 1024 };
/** Rows around the visible ones; they are loaded ahead unless the view has jumped. */
const AHEAD_ROWS = 128;

/** A value too large for a window: it opens alone. */
const LARGE_CELL: Cell = { text: '\u2026', look: 'cut' };

/** Creates the rows of a frame; windows of them are loaded on demand. `maxRows` is the server's limit. */
export function createFrameRows(api: Api, frame: FrameInfo, maxRows: number | null): RowSource {
  const plan = createWindowPlan(frame.columns, frame.rows, maxRows);
  const blocks = createBlocks(plan);
  const revision = signal(0);
  const isOutdated = signal(false);
  let range: CellRange | undefined;
  const retries = createRetries(() => loader.setPaused(false));
  const loader = createWindowLoader(
    blocks.isSettled,
    (first, second) => areJoinable(first, second, maxRows),
    async (windows, aborted) => {
      try {
        blocks.add(windows, await loadWindow(api, frame, requestFor(windows, aborted)));
        retries.succeed();
      } catch (error) {
        if (aborted.aborted) return;
        failed(windows, error);
      }
      revision.value += 1;
    },
  );

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

/** The loaded cells: blocks by window. The least recently used go first, if there are too many or too large ones. */
function createBlocks(plan: WindowPlan) {
  const blocks = new Map<string, CellBlock>();
  let bytes = 0;
  /** Windows with too many bytes at their smallest size: they are never loaded. */
  const large = new Set<string>();
  // The cells of a paint are in one or two windows: the last one is kept.
  let last: { readonly window: Window; readonly block: CellBlock } | undefined;

  function set(key: string, block: CellBlock): void {
    bytes += block.bytes - (blocks.get(key)?.bytes ?? 0);
    blocks.delete(key);
    blocks.set(key, block);
    for (const [oldest, { bytes: freed }] of blocks) {
      // The last block always stays.
      if (blocks.size === 1 || (blocks.size <= CACHE.maxBlocks && bytes <= CACHE.maxBytes)) break;
      blocks.delete(oldest);
      bytes -= freed;
    }
  }

  function find(row: number, column: number): typeof last {
    if (last !== undefined && isInside(last.window, row, column)) return last;
    const window = plan.windowAt(row, column);
    const block = blocks.get(window.key);
    if (block === undefined) return undefined;
    last = { window, block };
    return last;
  }

  return {
    /** Adds a block with the rows of some windows, one after the other. */
    add(windows: readonly Window[], block: CellBlock): void {
      const start = windows[0]?.firstRow ?? 0;
      for (const { key, firstRow, lastRow } of windows) set(key, rowsOfBlock(block, firstRow - start, lastRow - start));
    },
    /** The window has too many bytes: it is divided, or never loaded. */
    split(window: Window): void {
      if (!plan.split(window)) large.add(window.key);
      last = undefined;
    },
    /** True if a window needs no request: it is there, or will never be. */
    isSettled: (key: string): boolean => blocks.has(key) || large.has(key),
    /** Marks the blocks of windows as used. */
    touch(windows: readonly Window[]): void {
      for (const { key } of windows) {
        const block = blocks.get(key);
        if (block === undefined) continue;
        blocks.delete(key);
        blocks.set(key, block);
      }
    },
    cell(row: number, column: number): Cell | undefined {
      const found = find(row, column);
      if (found !== undefined) return found.block.cell(row - found.window.firstRow, column - found.window.group.first);
      return large.size > 0 && large.has(plan.windowAt(row, column).key) ? LARGE_CELL : undefined;
    },
    /** Returns the whole text of a value, null for null; undefined if it is not loaded. */
    text(row: number, column: number): string | null | undefined {
      const found = find(row, column);
      return found?.block.text(row - found.window.firstRow, column - found.window.group.first);
    },
  };
}

/** True for two windows of the same columns, one below the other, if their rows are within the server's limit. */
function areJoinable(first: Window, second: Window, maxRows: number | null): boolean {
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

/**
 * Sends requests for the wanted windows, a few at a time. `load` loads one window, or two if `canJoin` allows it; it resolves
 * when they are loaded, or cannot be.
 */
function createWindowLoader(
  isSettled: (key: string) => boolean,
  canJoin: (first: Window, second: Window) => boolean,
  load: (windows: readonly Window[], signal: AbortSignal) => Promise<void>,
) {
  const running = new Map<string, AbortController>();
  let wanted: readonly Window[] = [];
  let wantedKeys: ReadonlySet<string> = new Set();
  let isPaused = false;

  function send(): void {
    for (const [i, window] of wanted.entries()) {
      if (isPaused) return;
      if (!isMissing(window)) continue;
      if (new Set(running.values()).size >= MAX_REQUESTS && !abortUnwanted()) return;
      // A view over the border of two windows costs one request: the server opens the frame for each.
      const next = wanted[i + 1];
      void run(next !== undefined && isMissing(next) && canJoin(window, next) ? [window, next] : [window]);
    }
  }

  const isMissing = ({ key }: Window): boolean => !isSettled(key) && !running.has(key);

  /** Ends the oldest unwanted request; false if there is none. */
  function abortUnwanted(): boolean {
    const needed = new Set([...running].filter(([key]) => wantedKeys.has(key)).map(([, abort]) => abort));
    const unwanted = [...running.values()].find((abort) => !needed.has(abort));
    if (unwanted === undefined) return false;
    forget(unwanted);
    unwanted.abort();
    return true;
  }

  function forget(request: AbortController): void {
    for (const [key, abort] of running) if (abort === request) running.delete(key);
  }

  async function run(windows: readonly Window[]): Promise<void> {
    const abort = new AbortController();
    for (const { key } of windows) running.set(key, abort);
    try {
      await load(windows, abort.signal);
    } finally {
      forget(abort);
    }
    if (!abort.signal.aborted) send();
  }

  return {
    /** Replaces the wishes. Requests for others go on, unless their place is needed. */
    want(windows: readonly Window[]): void {
      wanted = windows;
      wantedKeys = new Set(windows.map(({ key }) => key));
      send();
    },
    /** Sends nothing until the next call with false. */
    setPaused(value: boolean): void {
      isPaused = value;
      send();
    },
    close(): void {
      isPaused = true;
      for (const abort of running.values()) abort.abort();
      running.clear();
    },
  };
}

const DELAYS_MS = [500, 1000, 2000, 4000];
const MAX_DELAY_MS = 8000;

/** Keeps the last failure. `again` tries again: less and less often, and not before the server allows it. */
export function createRetries(again: () => void) {
  const failure = signal<Error | undefined>(undefined);
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  function retry(): void {
    clearTimeout(timer);
    failure.value = undefined;
    again();
  }
  return {
    failure,
    retry,
    /** A temporary failure is tried again by itself. */
    fail(error: unknown): void {
      failure.value = toError(error);
      clearTimeout(timer);
      if (!isTemporary(error)) return;
      const delayMs = DELAYS_MS[failures] ?? MAX_DELAY_MS;
      timer = setTimeout(retry, Math.max(delayMs, askedMs(error)));
      failures += 1;
    },
    succeed(): void {
      failures = 0;
    },
    close: (): void => clearTimeout(timer),
  };
}

/** The server is not there, or is busy: the same request can succeed later. */
function isTemporary(error: unknown): boolean {
  return error instanceof ClientError && [undefined, 429, 502, 503, 504].includes(error.status);
}
