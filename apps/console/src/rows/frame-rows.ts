import { signal } from '@preact/signals';
import type { Api } from '../api/api.ts';
import { ApiError, ServerGone } from '../api/api-error.ts';
import type { FrameInfo } from '../api/types.ts';
import { createBlockCache } from './block-cache.ts';
import type { CellBlock } from './cell-block.ts';
import { FrameReplaced, loadWindow, TooManyBytes } from './load-window.ts';
import type { Cell, CellRange, RowSource } from './row-source.ts';
import { createWindowPlan, type Window } from './windows.ts';

/** Browsers open six connections to a server: the others are for queries and the catalogue. */
const MAX_REQUESTS = 3;
const MAX_WINDOW_BYTES = 8 * 1024 * 1024;
const MAX_CELL_BYTES = 256 * 1024 * 1024;
const CACHE = { maxBlocks: 96, maxBytes: 24 * 1024 * 1024 };
/** Rows around the visible ones that are loaded ahead, unless the view has jumped. */
const AHEAD_ROWS = 128;
const RETRY_MS = [500, 1000, 2000, 4000, 8000] as const;

/** A row that does not fit into a window: its cells open one by one. */
const LARGE_CELL: Cell = { text: '\u2026', look: 'cut' };

interface Running {
  readonly window: Window;
  readonly abort: AbortController;
}

/** Creates the rows of a frame, which come in windows when they are wanted. `maxRows` is the server's limit. */
export function createFrameRows(api: Api, frame: FrameInfo, maxRows: number | null): RowSource {
  const plan = createWindowPlan(frame.columns, frame.rows, maxRows);
  const cache = createBlockCache(CACHE);
  const large = new Set<string>();
  const running = new Map<string, Running>();
  const revision = signal(0);
  const failure = signal<Error | undefined>(undefined);
  const isOutdated = signal(false);
  let wanted: readonly Window[] = [];
  let wantedKeys: ReadonlySet<string> = new Set();
  let lastRange: CellRange | undefined;
  let isClosed = false;
  let retries = 0;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  // The cells of a paint are in one or two windows: the last one is kept.
  let last: { readonly window: Window; readonly block: CellBlock } | undefined;

  const isIdle = (): boolean => isClosed || isOutdated.peek() || failure.peek() !== undefined;

  function blockAt(row: number, column: number): typeof last {
    if (last !== undefined && isInside(last.window, row, column)) return last;
    const window = plan.windowAt(row, column);
    const block = cache.get(window.key);
    if (block === undefined) return undefined;
    last = { window, block };
    return last;
  }

  function send(): void {
    if (isIdle()) return;
    for (const window of wanted) {
      const { key } = window;
      if (cache.get(key) !== undefined || large.has(key) || running.has(key)) continue;
      if (running.size >= MAX_REQUESTS && !abortUnwanted()) return;
      void run(window);
    }
  }

  /** Frees the request that has run for the longest time of those that nothing on the page waits for. */
  function abortUnwanted(): boolean {
    for (const [key, { abort }] of running) {
      if (wantedKeys.has(key)) continue;
      running.delete(key);
      abort.abort();
      return true;
    }
    return false;
  }

  async function run(window: Window): Promise<void> {
    const { key, firstRow, lastRow, group } = window;
    const abort = new AbortController();
    const { signal: aborted } = abort;
    running.set(key, { window, abort });
    try {
      const request = { firstRow, lastRow, group, maxBytes: MAX_WINDOW_BYTES, signal: aborted };
      const block = await loadWindow(api, frame, request);
      if (aborted.aborted || isClosed) return;
      cache.set(key, block);
      retries = 0;
      revision.value += 1;
    } catch (error) {
      if (!aborted.aborted && !isClosed) settle(window, error);
    } finally {
      if (running.get(key)?.abort === abort) running.delete(key);
      send();
    }
  }

  function settle(window: Window, error: unknown): void {
    if (error instanceof FrameReplaced) {
      isOutdated.value = true;
    } else if (error instanceof TooManyBytes) {
      if (!plan.split(window)) large.add(window.key);
      last = undefined;
      revision.value += 1;
      if (lastRange !== undefined) choose(lastRange, lastRange);
    } else {
      failure.value = error instanceof Error ? error : new Error(String(error));
      if (isTemporary(error)) retryLater();
    }
  }

  function retryLater(): void {
    clearTimeout(retryTimer);
    const delay = RETRY_MS[Math.min(retries, RETRY_MS.length - 1)];
    retries += 1;
    retryTimer = setTimeout(retry, delay);
  }

  function retry(): void {
    clearTimeout(retryTimer);
    failure.value = undefined;
    send();
  }

  /** Chooses the windows of a range, then those ahead of it. */
  function choose(range: CellRange, before: CellRange | undefined): void {
    const visible = plan.windowsOf(range);
    const ahead = before === undefined ? [] : plan.windowsOf(rangeAhead(range, before));
    wanted = [...visible, ...ahead.filter(({ key }) => !visible.some((window) => window.key === key))];
    wantedKeys = new Set(wanted.map(({ key }) => key));
    for (const { key } of visible) cache.touch(key);
  }

  return {
    columns: frame.columns,
    rowCount: signal(frame.rows),
    revision,
    failure,
    isOutdated,
    cell(row, column) {
      const found = blockAt(row, column);
      if (found === undefined) {
        return large.size > 0 && large.has(plan.windowAt(row, column).key) ? LARGE_CELL : undefined;
      }
      const { window, block } = found;
      return block.cell(row - window.firstRow, column - window.group.first);
    },
    want(range) {
      choose(range, lastRange);
      lastRange = range;
      send();
    },
    async wholeText(row, column, aborted = new AbortController().signal) {
      const found = blockAt(row, column);
      if (found !== undefined)
        return found.block.wholeText(row - found.window.firstRow, column - found.window.group.first);
      const isJson = plan.windowAt(row, column).group.isJson;
      const group = { first: column, last: column, isJson };
      const request = { firstRow: row, lastRow: row, group, maxBytes: MAX_CELL_BYTES, signal: aborted };
      return (await loadWindow(api, frame, request)).wholeText(0, 0);
    },
    retry,
    close() {
      isClosed = true;
      clearTimeout(retryTimer);
      for (const { abort } of running.values()) abort.abort();
      cache.clear();
      last = undefined;
    },
  };
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

/** The server is not there, or is busy: the same request can succeed later. */
function isTemporary(error: unknown): boolean {
  return error instanceof ServerGone || (error instanceof ApiError && [429, 502, 503, 504].includes(error.status));
}
