import type { Api, ColumnInfo, FrameInfo } from '../api/api.ts';
import type { CellRange } from './row-source.ts';
import { type ClientResponse, cutOff, frameRequest } from '@svc/client/internal';
import { blockFromArrow, blockFromJson, type CellBlock } from './cell-block.ts';

const GROUP_COLUMNS = 32;
/** The rows and columns of a window, by level: a window with too many bytes is loaded again as smaller ones. */
const LEVELS: readonly (readonly [rows: number, columns: number])[] = [
  [512, GROUP_COLUMNS],
  [64, GROUP_COLUMNS],
  [8, GROUP_COLUMNS],
  [1, GROUP_COLUMNS],
  [1, 1],
];

/** Columns of one request. */
export interface ColumnGroup {
  readonly first: number;
  readonly last: number;
  /** Its Arrow data could not be decoded: it is read as JSON. */
  isJson: boolean;
}

/** A rectangle of cells, loaded by one request. */
export interface Window {
  readonly key: string;
  readonly level: number;
  readonly firstRow: number;
  readonly lastRow: number;
  readonly group: ColumnGroup;
}

/** How the cells of a frame are divided into windows. */
export interface WindowPlan {
  /** The window of a cell. */
  windowAt(row: number, column: number): Window;
  /** The windows of a range, from its first row on. */
  windowsOf(range: CellRange): readonly Window[];
  /** Loads the cells of this window in smaller ones from now on; false if it is the smallest. */
  split(window: Window): boolean;
}

/** Divides `rows` rows; no window has more than `maxRows`. */
export function createWindowPlan(columns: readonly ColumnInfo[], rows: number, maxRows: number | null): WindowPlan {
  const levels = LEVELS.filter(([count]) => maxRows === null || count <= maxRows);
  const groups = new Map<number, ColumnGroup>();
  const divided = new Set<string>();
  let firstLevel = 0;

  function windowAt(row: number, column: number): Window {
    for (let level = firstLevel; ; level += 1) {
      const [size, width] = levels[level] ?? [1, 1];
      const number = Math.floor(row / size);
      const first = column - (column % width);
      const key = `${level}:${number}:${first}`;
      if (divided.has(key)) continue;
      const group = groupAt(first, width);
      return { key, level, group, firstRow: number * size, lastRow: Math.min(rows, (number + 1) * size) - 1 };
    }
  }

  function groupAt(first: number, width: number): ColumnGroup {
    const key = first * 2 * GROUP_COLUMNS + width;
    const group = groups.get(key) ?? { first, last: Math.min(columns.length, first + width) - 1, isJson: false };
    groups.set(key, group);
    return group;
  }

  return {
    windowAt,
    windowsOf({ firstRow, lastRow, firstColumn, lastColumn }) {
      const found: Window[] = [];
      const end = Math.min(lastColumn, columns.length - 1);
      for (let column = Math.max(0, firstColumn); column <= end;) {
        const last = Math.min(end, column - (column % GROUP_COLUMNS) + GROUP_COLUMNS - 1);
        for (let row = Math.max(0, firstRow); row <= Math.min(lastRow, rows - 1);) {
          let window = windowAt(row, column);
          found.push(window);
          // The columns of a long row are windows of their own.
          while (window.group.last < last) {
            window = windowAt(row, window.group.last + 1);
            found.push(window);
          }
          row = window.lastRow + 1;
        }
        column = last + 1;
      }
      return found;
    },
    split(window) {
      if (window.level >= levels.length - 1) return false;
      divided.add(window.key);
      // The rest of the frame has probably rows of this length, too.
      firstLevel = Math.max(firstLevel, Math.min(window.level + 1, 2));
      return true;
    },
  };
}

/** The response has more bytes than a window may have. */
export class TooManyBytes extends Error {
  override readonly name = 'TooManyBytes';
}

/** The frame has been replaced since it was opened. */
export class FrameReplaced extends Error {
  override readonly name = 'FrameReplaced';
}

/** The cells of a request: rows from 0, both ends included. */
export interface LoadRequest {
  readonly firstRow: number;
  readonly lastRow: number;
  readonly group: ColumnGroup;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** Loads cells of a frame: as Arrow or, if Arrow cannot be decoded, as JSON. */
export async function loadWindow(api: Api, frame: FrameInfo, request: LoadRequest): Promise<CellBlock> {
  if (!request.group.isJson) {
    const loaded = await load(api, frame, 'arrow', request);
    const block = attempt(() => blockFromArrow(loaded.bytes));
    if (block) return whole(block, request, loaded);
    // JSON cannot tell NaN from null: only columns in need of it are read so.
    request.group.isJson = true;
  }
  const loaded = await load(api, frame, 'json', request);
  // Few columns need it.
  const { createJsonTableReader } = await import('../api/json-table-reader.ts');
  return whole(blockFromJson(createJsonTableReader().push(loaded.bytes), loaded.bytes.byteLength), request, loaded);
}

/** Returns the block. Throws if rows are missing: the answer was cut off. */
function whole(block: CellBlock, { firstRow, lastRow }: LoadRequest, { requestId }: Loaded): CellBlock {
  if (block.rows !== lastRow - firstRow + 1) throw cutOff({ requestId });
  return block;
}

function attempt<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch {
    return undefined;
  }
}

/** The bytes of a response. */
interface Loaded {
  readonly bytes: Uint8Array;
  readonly requestId: string;
}

async function load(
  api: Api,
  frame: FrameInfo,
  format: 'arrow' | 'json',
  { firstRow, lastRow, group, maxBytes, signal }: LoadRequest,
): Promise<Loaded> {
  const isAll = group.first === 0 && group.last === frame.columns.length - 1;
  const columns = isAll ? undefined : frame.columns.slice(group.first, group.last + 1).map(({ name }) => name);
  const rows = { offset: firstRow, limit: lastRow - firstRow + 1 };
  const response = await api.send(frameRequest(frame.handle, format, { ...rows, columns, signal }));
  const { headers, body, requestId } = response;
  if (!isVersion(headers.get('etag'), frame.version)) {
    await body.return();
    throw new FrameReplaced('The frame has been replaced.');
  }
  return { bytes: await readBytes(response, maxBytes), requestId };
}

/** True if an etag names a version, compressed or not. */
function isVersion(etag: string | null, version: string): boolean {
  return etag === `"${version}"` || etag === `"${version}-gzip"`;
}

async function readBytes({ body }: ClientResponse, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.byteLength;
    if (length > maxBytes) throw new TooManyBytes(`The window has more than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}
