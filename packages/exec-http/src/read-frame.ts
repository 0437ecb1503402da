import { type Call, type FrameInfo, isHandle } from '@svc/frames';
import type { FrameReading, Service } from '@svc/service';
import type { EndpointResponse } from './endpoint-response.ts';
import type { ResponseCache } from './response-cache.ts';
import { isWorthGzip } from './compress.ts';
import type { RequestContext } from './request-context.ts';
import { etagOf, matchingEtag } from './etag.ts';
import { checkMaxRows, type HandleRequest } from './exec-request.ts';
import { canReuseBuffers, tableHeaders, writeTable } from './write-table.ts';

/** Dependencies of `readFrame`. */
export interface FrameReads {
  readonly service: Service;
  readonly cache: ResponseCache;
  /** Whether to compress responses for clients that accept gzip. */
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
  { service, cache, compression }: FrameReads,
  context: RequestContext,
  request: HandleRequest,
): Promise<OwnResponse | undefined> {
  const { c, call } = context;
  // Leave the error of an invalid handle to the read.
  if (request.timings || !isHandle(request.handle)) return undefined;
  const info = await service.describeFrame(call, request.handle);
  const cached = cache.get(keyOf(call, info, request));
  if (cached === undefined) return undefined;
  const { version } = info;
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
    query: `handle:${request.handle}`,
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
  return { headers, body: reads.cache.keeping(keyOf(call, info, request), chunks), reuseBuffers, isPacked, version };
}

function headersOf(request: HandleRequest, { rows }: FrameInfo): Readonly<Record<string, string>> {
  return { ...tableHeaders(request.handle, request), 'x-total-count': String(rows) };
}

/** Returns the number of rows in the response. */
function rowsOf({ rows: { offset, limit = Infinity } }: HandleRequest, { rows }: FrameInfo): number {
  return Math.max(0, Math.min(limit, rows - offset));
}

/** Returns the cache key: equal keys mean equal bytes. */
function keyOf({ tenant }: Call, { version }: FrameInfo, request: HandleRequest): string {
  const { handle, format, rows, columns, quoteLargeNum, countsAll, hasMetadata } = request;
  const shape = [format, columns, quoteLargeNum, countsAll, hasMetadata];
  return JSON.stringify([tenant, handle, version, rows.offset, rows.limit, ...shape]);
}
