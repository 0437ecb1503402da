import type { Api } from '../api/api.ts';
import { ServerGone } from '../api/api-error.ts';
import type { FrameInfo } from '../api/types.ts';
import { blockFromArrow, blockFromJson, type CellBlock } from './cell-block.ts';
import { columnsParameter, type ColumnGroup } from './windows.ts';

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

/** Loads cells of a frame: as Arrow, or as JSON if that cannot be decoded. */
export async function loadWindow(api: Api, frame: FrameInfo, request: LoadRequest): Promise<CellBlock> {
  if (!request.group.isJson) {
    const bytes = await load(api, frame, '/exp', 'arrow', request);
    const block = attempt(() => blockFromArrow(bytes));
    if (block) return whole(block, request);
    // JSON cannot tell NaN from null, so that it is only for columns that need it.
    request.group.isJson = true;
  }
  const bytes = await load(api, frame, '/exec', 'json', request);
  // Few columns need it.
  const { createJsonTableReader } = await import('../api/json-table-reader.ts');
  const batches = createJsonTableReader().push(bytes);
  const rows = batches.flatMap((batch) => (batch.kind === 'json' ? batch.rows : []));
  return whole(blockFromJson(rows, bytes.byteLength), request);
}

/** Returns the block. Throws if rows are missing: the answer was cut off. */
function whole(block: CellBlock, { firstRow, lastRow }: LoadRequest): CellBlock {
  if (block.rows !== lastRow - firstRow + 1) throw cutOff();
  return block;
}

function cutOff(cause?: unknown): ServerGone {
  return new ServerGone('The server ended the answer before it was complete.', { cause });
}

function attempt<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch {
    return undefined;
  }
}

async function load(
  api: Api,
  frame: FrameInfo,
  path: string,
  fmt: string,
  { firstRow, lastRow, group, maxBytes, signal }: LoadRequest,
): Promise<Uint8Array> {
  const isAll = group.first === 0 && group.last === frame.columns.length - 1;
  const cols = isAll ? undefined : columnsParameter(frame.columns.slice(group.first, group.last + 1));
  const params = { handle: frame.handle, fmt, limit: `${firstRow + 1},${lastRow + 1}`, cols };
  const response = await api.request(path, { params, signal });
  if (!isVersion(response.headers.get('etag'), frame.version)) {
    await response.body?.cancel();
    throw new FrameReplaced('The frame has been replaced.');
  }
  return await readBytes(response, maxBytes);
}

/** Returns whether an etag is that of a version, compressed or not. */
function isVersion(etag: string | null, version: string): boolean {
  return etag === `"${version}"` || etag === `"${version}-gzip"`;
}

async function readBytes(response: Response, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const read = reader?.read().catch((error: unknown) => {
      throw cutOff(error);
    });
    const { done = true, value } = (await read) ?? {};
    if (done || value === undefined) break;
    length += value.byteLength;
    if (length > maxBytes) {
      await reader?.cancel();
      throw new TooManyBytes(`The window has more than ${maxBytes} bytes.`);
    }
    chunks.push(value);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}
