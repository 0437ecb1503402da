import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { ByteRange, FrameFileFormat } from '@svc/frames';
import type { FileReading } from '@svc/service';
import { etagOf, selectBytes } from '../request/conditions.ts';
import { checkMaxRows } from '../request/exec-request.ts';
import { lastSegment, parseQueryString } from '../request/query-string.ts';
import type { RequestContext } from '../request/request-context.ts';
import { acceptsGzip } from '../response/compress.ts';
import type { EndpointResponse } from '../response/endpoint-response.ts';
import { type FrameReads, readFrame } from '../response/read-frame.ts';
import type { HandlersOf } from './add-endpoints.ts';
import { FILE_TYPES } from './parameters.ts';

/** Handles `/files/{handle}.{format}`: whole frames as files with a path. */
export function fileHandlers(reads: FrameReads): HandlersOf<'GET'> {
  return {
    GET: (context) => {
      const { handle, format } = parseName(lastSegment(context.c.req.url));
      refuseParts(context.c.req.url);
      const isText = format === 'csv' || format === 'ndjson';
      return isText ? sendText(reads, context, handle, format) : sendFile(reads, context, handle, format);
    },
  };
}

/** The handle may have dots, too. */
function parseName(name: string): { readonly handle: string; readonly format: FrameFileFormat } {
  const dot = name.lastIndexOf('.');
  const extension = name.slice(dot + 1);
  if (dot >= 0 && isFormat(extension)) return { handle: name.slice(0, dot), format: extension };
  throw new ServiceError('route_not_found', `There is no file ${quoted(name)}.`, {
    hint: `Request the handle of a frame with one of the extensions .${Object.keys(FILE_TYPES).join(', .')}.`,
  });
}

function isFormat(text: string): text is FrameFileFormat {
  return Object.hasOwn(FILE_TYPES, text);
}

/** Refuses the parameters of `/exp` for a part of a frame. */
function refuseParts(url: string): void {
  const part = parseQueryString(url).find(([name]) => name === 'limit' || name === 'cols');
  if (part === undefined) return;
  throw new ServiceError('invalid_argument', `A file is a whole frame: it has no parameter ${quoted(part[0])}.`, {
    hint: 'Select rows and columns with /exp.',
  });
}

/**
 * Sends text while it is encoded. It takes a file if the client asks for the length, a range or one version; a file
 * that exists already is sent, with its length, to clients that do not accept compression.
 */
async function sendText(
  reads: FrameReads,
  context: RequestContext,
  handle: string,
  format: 'csv' | 'ndjson',
): Promise<EndpointResponse> {
  const { service, compression } = reads;
  const { req } = context.c;
  const hasFiles = service.frameFileFormats.includes(format);
  const needsFile = req.method === 'HEAD' || ['range', 'if-match'].some((name) => req.header(name) !== undefined);
  if (hasFiles && needsFile) return sendFile(reads, context, handle, format);
  const isCompressed = compression && acceptsGzip(req.header('accept-encoding'));
  const reading = hasFiles && !isCompressed ? await service.findFile(context.call, handle, format) : undefined;
  if (reading !== undefined) return sendReading(reads, context, format, reading);
  const response = await readFrame(reads, context, { kind: 'handle', handle, format, ...WHOLE });
  if ('forwarded' in response) return response;
  return { ...response, headers: { ...response.headers, 'accept-ranges': hasFiles ? 'bytes' : 'none' } };
}

/** All rows and columns, as they are. */
const WHOLE = {
  rows: { offset: 0 },
  columns: undefined,
  quoteLargeNum: false,
  countsAll: false,
  hasMetadata: true,
  timings: false,
} as const;

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
async function sendReading(
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
  // Start the generator: returned before its start, it would not close the file.
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
