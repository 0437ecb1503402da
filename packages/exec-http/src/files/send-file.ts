import { ServiceError } from '@svc/errors';
import { type ByteRange, ENCODINGS, type FrameFileFormat } from '@svc/frames';
import type { FileReading } from '@svc/service';
import { selectBytes } from './byte-range.ts';
import type { EndpointResponse } from '../endpoint-response.ts';
import { etagOf } from '../etag.ts';
import { checkMaxRows } from '../exec-request.ts';
import type { FrameReads } from '../read-frame.ts';
import type { RequestContext } from '../request-context.ts';

/** The content type of each format as a file; `/exp` sends Arrow as a stream. */
const CONTENT_TYPES: Readonly<Record<FrameFileFormat, string>> = {
  parquet: ENCODINGS.parquet.out.contentType,
  arrow: 'application/vnd.apache.arrow.file',
  csv: ENCODINGS.csv.out.contentType,
  ndjson: ENCODINGS.ndjson.out.contentType,
};

/** Responds with a frame as a file, or with a range of its bytes. */
export async function sendFile(
  { service, maxRows }: FrameReads,
  context: RequestContext,
  handle: string,
  format: FrameFileFormat,
): Promise<EndpointResponse> {
  const reading = await service.openFile(context.call, handle, format);
  try {
    checkMaxRows(reading.info.rows, maxRows);
    const response = responseOf(reading, context, {
      'content-type': CONTENT_TYPES[format],
      'content-disposition': `attachment; filename="${handle}.${format}"`,
      'x-total-count': String(reading.info.rows),
    });
    // A body closes the file when it ends.
    if (!('body' in response)) reading.close();
    return response;
  } catch (error) {
    reading.close();
    throw error;
  }
}

function responseOf(
  reading: FileReading,
  context: RequestContext,
  headers: Readonly<Record<string, string>>,
): EndpointResponse {
  const { bytes, version } = reading.file;
  const { req } = context.c;
  const etag = etagOf(version);
  const common = { 'accept-ranges': 'bytes', etag };
  const selected = selectBytes(req, etag, bytes);
  switch (selected.kind) {
    case 'precondition_failed':
      return { error: preconditionFailed(etag), headers: common };
    case 'not_modified':
      return { status: 304, headers: { ...headers, ...common } };
    case 'not_satisfiable':
      return { error: notSatisfiable(bytes), headers: { ...common, 'content-range': `bytes */${bytes}` } };
    case 'whole': {
      const whole = { headers: { ...headers, ...common, 'content-length': String(bytes) } };
      return req.method === 'HEAD' ? whole : { ...whole, ...bodyOf(reading, context, { start: 0, end: bytes }) };
    }
    case 'range': {
      const { start, end } = selected.range;
      const length = { 'content-length': String(end - start), 'content-range': `bytes ${start}-${end - 1}/${bytes}` };
      return {
        status: 206,
        headers: { ...headers, ...common, ...length },
        ...bodyOf(reading, context, selected.range),
      };
    }
    default:
      return selected satisfies never;
  }
}

/** Ranges are those of the bytes as they are, so the body is never compressed. */
function bodyOf(
  reading: FileReading,
  { call }: RequestContext,
  range: ByteRange,
): Pick<Extract<EndpointResponse, { body?: unknown }>, 'body' | 'isPacked' | 'reuseBuffers'> {
  async function* body(): AsyncGenerator<Uint8Array, void> {
    try {
      yield* reading.file.read(range, call.signal);
    } finally {
      reading.close();
    }
  }
  return { body: body(), isPacked: true, reuseBuffers: true };
}

function preconditionFailed(etag: string): ServiceError {
  return new ServiceError('precondition_failed', `The file is another one than If-Match names: its etag is ${etag}.`);
}

function notSatisfiable(bytes: number): ServiceError {
  return new ServiceError('range_not_satisfiable', `The file has ${bytes} bytes, and the range begins after its end.`);
}
