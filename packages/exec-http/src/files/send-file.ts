import { ServiceError } from '@svc/errors';
import type { ByteRange, FrameFileFormat } from '@svc/frames';
import type { FileReading } from '@svc/service';
import { selectBytes } from './byte-range.ts';
import type { EndpointResponse } from '../endpoint-response.ts';
import { FILE_TYPES } from '../endpoints/parameters.ts';
import { etagOf } from '../etag.ts';
import { checkMaxRows } from '../exec-request.ts';
import type { FrameReads } from '../read-frame.ts';
import type { RequestContext } from '../request-context.ts';

/** Responds with a frame as a file, or with a range of its bytes. */
export async function sendFile(
  reads: FrameReads,
  context: RequestContext,
  handle: string,
  format: FrameFileFormat,
): Promise<EndpointResponse> {
  return sendReading(reads, context, format, await reads.service.openFile(context.call, handle, format));
}

/** Responds with an open file, and closes it. */
export async function sendReading(
  { maxRows }: FrameReads,
  context: RequestContext,
  format: FrameFileFormat,
  reading: FileReading,
): Promise<EndpointResponse> {
  const { handle } = reading.info;
  try {
    checkMaxRows(reading.info.rows, maxRows);
    context.format = format;
    const response = await responseOf(reading, context, {
      'content-type': FILE_TYPES[format],
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

async function responseOf(
  reading: FileReading,
  context: RequestContext,
  headers: Readonly<Record<string, string>>,
): Promise<EndpointResponse> {
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
      const whole = { headers: { ...headers, ...common }, length: bytes };
      if (req.method === 'HEAD') return whole;
      context.rows = reading.info.rows;
      return { ...whole, ...SENT, body: await startBody(reading, context, { start: 0, end: bytes }) };
    }
    case 'range': {
      const { start, end } = selected.range;
      const range = { 'content-range': `bytes ${start}-${end - 1}/${bytes}` };
      const body = await startBody(reading, context, selected.range);
      return { status: 206, headers: { ...headers, ...common, ...range }, length: end - start, ...SENT, body };
    }
    default:
      return selected satisfies never;
  }
}

/** Ranges are those of the bytes as they are, so a body is never compressed. */
const SENT = { isPacked: true, reuseBuffers: true } as const;

/** Reads a range, and closes the file at the end. */
async function startBody(
  reading: FileReading,
  { call }: RequestContext,
  range: ByteRange,
): Promise<AsyncGenerator<Uint8Array, void>> {
  async function* chunks(): AsyncGenerator<Uint8Array, void> {
    try {
      yield new Uint8Array(0);
      yield* reading.file.read(range, call.signal);
    } finally {
      reading.close();
    }
  }
  const body = chunks();
  // A generator that has not started would not close the file if it is returned.
  await body.next();
  return body;
}

function preconditionFailed(etag: string): ServiceError {
  return new ServiceError(
    'precondition_failed',
    `If-Match does not name the current etag of the file, which is ${etag}.`,
  );
}

function notSatisfiable(bytes: number): ServiceError {
  return new ServiceError('range_not_satisfiable', `The file has ${bytes} bytes, and the range begins after its end.`);
}
