import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { FrameFileFormat } from '@svc/frames';
import { acceptsGzip } from '../compress.ts';
import type { EndpointResponse } from '../endpoint-response.ts';
import type { HandlersOf } from '../endpoint.ts';
import { FILE_TYPES } from '../endpoints/parameters.ts';
import { lastSegment, parseQueryString } from '../query-string.ts';
import { type FrameReads, readFrame } from '../read-frame.ts';
import type { RequestContext } from '../request-context.ts';
import { sendFile, sendReading } from './send-file.ts';

/** Handles `/files/{handle}.{format}`: whole frames, for clients that need a file under a path. */
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

/** Refuses the parameters of `/exp` that would select a part. */
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
