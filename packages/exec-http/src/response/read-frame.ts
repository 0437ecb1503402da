import { type Call, type FrameInfo, isHandle } from '@svc/frames';
import { encodeRowBlocks } from '@svc/frames/json';
import type { FrameReading, Service } from '@svc/service';
import type { EndpointResponse } from './endpoint-response.ts';
import type { CachedResponse, ResponseCache, RowWindow } from '../cache/response-cache.ts';
import { isWorthGzip } from './compress.ts';
import type { RequestContext } from '../request/request-context.ts';
import { etagOf, matchingEtag } from '../request/conditions.ts';
import { checkMaxRows, type HandleRequest } from '../request/exec-request.ts';
import { canReuseBuffers, tableHeaders, writeTable } from './write-table.ts';

/** Dependencies of `readFrame`. */
export interface FrameReads {
  readonly service: Service;
  readonly cache: ResponseCache;
  /** True: compress responses for clients with support for gzip. */
  readonly compression: boolean;
  /** The most rows of a response; undefined: no limit. */
  readonly maxRows?: number | undefined;
}

type OwnResponse = Exclude<EndpointResponse, { error: unknown } | { forwarded: unknown }>;

/** Responds with the rows of a frame. */
export async function readFrame(
  reads: FrameReads,
  context: RequestContext,
  request: HandleRequest,
): Promise<EndpointResponse> {
  context.format = request.format;
  const cached = await cachedResponse(reads, context, request);
  if (cached !== undefined) return cached;
  const startNs = process.hrtime.bigint();
  const reading = await reads.service.readFrame(context.call, request.handle, {
    ...request.rows,
    ...(request.columns && { columns: request.columns }),
    reuseBuffers: canReuseBuffers(request.format),
  });
  try {
    const response = responseOf(reads, context, request, reading, startNs);
    // A streamed body closes the frame when it ends.
    const isComplete = !(typeof response.body === 'object' && 'next' in response.body);
    if (isComplete) reading.close();
    return response;
  } catch (error) {
    reading.close();
    throw error;
  }
}

/** Returns a response from the cache, without opening the frame; undefined on a cache miss. */
async function cachedResponse(
  reads: FrameReads,
  context: RequestContext,
  request: HandleRequest,
): Promise<OwnResponse | undefined> {
  const { service, cache, compression } = reads;
  const { c, call } = context;
  // Leave the error of an invalid handle to the read.
  if (request.timings || !isHandle(request.handle)) return undefined;
  const info = await service.describeFrame(call, request.handle);
  const { version } = info;
  const { key, window } = placeOf(call, info, request);
  const cached = cache.get(key, window) ?? (window && (await keepRows(reads, call, request, window, version)));
  if (cached === undefined) return undefined;
  const headers = headersOf(request, info);
  const etag = matchingEtag(c.req.header('if-none-match'), version);
  if (etag !== undefined) return { status: 304, headers: { ...headers, etag } };
  context.rows = rowsOf(request, info);
  const isPacked = request.format === 'parquet';
  const isCompressed =
    compression && !isPacked && isWorthGzip(cached.bytes.byteLength, c.req.header('accept-encoding'));
  if (!isCompressed) return { headers, body: cached.bytes, isPacked, version };
  const packed = { ...headers, 'content-encoding': 'gzip', etag: etagOf(version, true) };
  return { headers: packed, body: await cached.compressed(), isPacked: true, version };
}

/** Caches the rows around a repeated window, and returns it. Undefined if they are not to be cached. */
async function keepRows(
  { service, cache }: FrameReads,
  call: Call,
  { handle, columns, quoteLargeNum }: HandleRequest,
  window: RowWindow,
  version: string,
): Promise<CachedResponse | undefined> {
  const wanted = cache.wantedRows(window);
  if (wanted === undefined) return undefined;
  try {
    const { range, ...limits } = wanted;
    const reading = await service.readFrame(call, handle, {
      ...range,
      ...(columns && { columns }),
      reuseBuffers: true,
    });
    try {
      if (reading.info.version !== version) return undefined;
      const blocks = await encodeRowBlocks(reading.stream, { query: queryOf(handle), quoteLargeNum, ...limits });
      return cache.keepRows(window, blocks);
    } finally {
      reading.close();
    }
  } catch {
    // Rows beside the window may be at fault. If its own are, reading them alone fails, too.
    return undefined;
  }
}

function responseOf(
  reads: FrameReads,
  context: RequestContext,
  request: HandleRequest,
  reading: FrameReading,
  startNs: bigint,
): OwnResponse {
  const { c, call } = context;
  const { info, stream } = reading;
  const { version, rows } = info;
  if (request.rows.limit === undefined) checkMaxRows(rows - request.rows.offset, reads.maxRows);
  const headers = headersOf(request, info);
  const openedNs = process.hrtime.bigint();
  const timings = () => ({ open: Number(openedNs - startNs), encode: Number(process.hrtime.bigint() - openedNs) });
  const table = {
    stream,
    query: queryOf(request.handle),
    ...(request.countsAll && { count: () => rows }),
    timings,
    close: () => reading.close(),
  };
  const reuseBuffers = canReuseBuffers(request.format);
  context.rows = rowsOf(request, info);
  if (request.timings) return { headers, body: writeTable(reads.service, call, table, request), reuseBuffers };
  const etag = matchingEtag(c.req.header('if-none-match'), version);
  if (etag !== undefined) {
    context.rows = undefined;
    return { status: 304, headers: { ...headers, etag } };
  }
  // A Parquet file must be complete before its first byte can be sent: too much work for a HEAD request.
  const isPacked = request.format === 'parquet';
  if (isPacked && c.req.method === 'HEAD') return { headers, version };
  const chunks = writeTable(reads.service, call, table, request);
  return {
    headers,
    body: reads.cache.keeping(placeOf(call, info, request).key, chunks),
    reuseBuffers,
    isPacked,
    version,
  };
}

function headersOf(request: HandleRequest, { rows }: FrameInfo): Readonly<Record<string, string>> {
  return { ...tableHeaders(request.handle, request), 'x-total-count': String(rows) };
}

/** Returns the number of rows in the response. */
function rowsOf({ rows: { offset, limit = Infinity } }: HandleRequest, { rows }: FrameInfo): number {
  return Math.max(0, Math.min(limit, rows - offset));
}

/** Returns the `query` of a JSON table. */
function queryOf(handle: string): string {
  return `handle:${handle}`;
}

/** Where the cache has a response, and its rows. */
interface CachePlace {
  /** Equal keys mean equal bytes. */
  readonly key: string;
  /** The rows of a JSON table with a limit. */
  readonly window: RowWindow | undefined;
}

function placeOf({ tenant }: Call, info: FrameInfo, request: HandleRequest): CachePlace {
  const { handle, format, rows, columns, quoteLargeNum, countsAll, hasMetadata } = request;
  const rowsKey = JSON.stringify([tenant, handle, info.version, columns, quoteLargeNum]);
  const key = `${rowsKey} ${format} ${rows.offset} ${rows.limit} ${countsAll} ${hasMetadata}`;
  const count = rowsOf(request, info);
  if (format !== 'json' || rows.limit === undefined || count === 0) return { key, window: undefined };
  const shown = { metadata: hasMetadata, count: countsAll ? info.rows : count };
  return { key, window: { key: rowsKey, offset: rows.offset, rows: count, ...shown } };
}
