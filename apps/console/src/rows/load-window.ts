import { type ClientResponse, cutOff, frameRequest } from '@svc/client/internal';
import type { Api } from '../api/api.ts';
import type { FrameInfo } from '../api/types.ts';
import { blockFromArrow, blockFromJson, type CellBlock } from './cell-block.ts';
import type { ColumnGroup } from './windows.ts';

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
    const loaded = await load(api, frame, 'arrow', request);
    const block = attempt(() => blockFromArrow(loaded.bytes));
    if (block) return whole(block, request, loaded);
    // JSON cannot tell NaN from null, so that it is only for columns that need it.
    request.group.isJson = true;
  }
  const loaded = await load(api, frame, 'json', request);
  // Few columns need it.
  const { createJsonTableReader } = await import('../api/json-table-reader.ts');
  const batches = createJsonTableReader().push(loaded.bytes);
  const rows = batches.flatMap((batch) => (batch.kind === 'json' ? batch.rows : []));
  return whole(blockFromJson(rows, loaded.bytes.byteLength), request, loaded);
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

/** Returns whether an etag is that of a version, compressed or not. */
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
