import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import {
  CONTENT_CODINGS,
  type ContentCoding,
  decompressBody,
  ENCODINGS,
  recogniseFormat,
  type RecogniseOptions,
  UPLOAD_FORMATS,
  type UploadFormat,
} from '@svc/frames';
import { limitBytes, readHead, RECOGNISED_BYTES } from '@svc/frames/streams';
import type { Service } from '@svc/service';
import { parseQueryString, single } from '../request/query-string.ts';
import { type BodyChunks, openBody } from '../request/request-body.ts';
import type { RequestContext } from '../request/request-context.ts';
import { openFormFile } from './form-file.ts';

/** The rows in a request: their format, and their bytes as they are after decompression. */
export interface UploadBody {
  readonly format: UploadFormat;
  readonly body: BodyChunks;
  /** The `Content-Type` of the rows; empty in a form. */
  readonly contentType: string;
  /** The first bytes, if they told the format. */
  readonly head?: Uint8Array;
}

const FORM = 'application/x-www-form-urlencoded';

/**
 * The media types that do not tell the format, or have no format to themselves. Windows says `vnd.ms-excel` for CSV
 * files.
 */
const VAGUE_TYPES: ReadonlySet<string> = new Set([
  '',
  FORM,
  'text/plain',
  'text/tab-separated-values',
  'application/jsonl',
  'application/x-jsonlines',
  'application/octet-stream',
  'binary/octet-stream',
  'application/gzip',
  'application/x-gzip',
  'application/zstd',
  'application/vnd.ms-excel',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
]);

/**
 * Opens the rows in a request. If neither `fmt` nor `Content-Type` tells the format, the first bytes do. Otherwise nothing
 * is read: a client that waits for `100 Continue` may still be refused.
 */
export async function openUpload(service: Service, context: RequestContext): Promise<UploadBody> {
  const { req } = context.c;
  const { uploadFormats, maxUploadBytes: maxBytes } = service;
  const query = parseQueryString(req.url);
  const fmt = single(query, 'fmt');
  const coding = parseContentEncoding(req.header('content-encoding'));
  const contentType = req.header('content-type') ?? '';
  const isForm = mediaTypeOf(contentType) === 'multipart/form-data';
  const declared = isForm ? formatOf(uploadFormats, fmt, '') : formatOf(uploadFormats, fmt, contentType);
  const received = limitBytes(openBody(context), maxBytes);
  const body = coding === undefined ? received : decompressBody(received, coding, { maxBytes });
  // Only CSV is read in several encodings.
  const text = single(query, 'encoding') === undefined ? undefined : 'csv';
  if (!isForm) {
    if (declared === undefined) return recognised(service, { body, contentType }, { text });
    // Rows whose coding is named are not decompressed twice.
    return { format: declared, body: coding === undefined ? rowsOf(declared, body, maxBytes) : body, contentType };
  }
  const file = await openFormFile(contentType, body);
  const format = declared ?? formatOf(uploadFormats, undefined, file.type);
  if (format !== undefined) return { format, body: rowsOf(format, file.body, maxBytes), contentType: '' };
  const isCsvName = /\.(?:csv|tsv)(?:\.gz|\.zst)?$/i.test(file.name);
  const rows = await recognised(
    service,
    { body: file.body, contentType: file.type },
    { text: isCsvName ? 'csv' : text },
  );
  return file.name === '' ? rows : { ...rows, contentType: '' };
}

/** Returns rows in a declared format. Decompresses them if their first bytes say so: no format begins so. */
async function* rowsOf(format: UploadFormat, received: BodyChunks, maxBytes: number): BodyChunks {
  let { head, body } = await peek(received);
  const found = recogniseFormat(head);
  if (found.kind === 'compressed') ({ head, body } = await peek(decompressBody(body, found.coding, { maxBytes })));
  if (format !== 'parquet' && format !== 'arrow' && head.includes(0)) refuseBinary(format, head);
  yield* body;
}

/** Refuses a file of another kind with the name of a text. */
function refuseBinary(format: UploadFormat, head: Uint8Array): void {
  const found = recogniseFormat(head, { text: 'csv' });
  if (found.kind === 'unsupported')
    throw new ServiceError('unsupported_media_type', found.message, { hint: found.hint });
  if (found.kind !== 'format' || found.format === 'csv') return;
  throw new ServiceError('unsupported_media_type', `The body is ${found.format}, and it was sent as ${format}.`, {
    hint: `Send it with ?fmt=${found.format} or Content-Type: ${typesOf(found.format)[0]}, from a file with that extension.`,
  });
}

/** Returns the media type of a content type, in lower case. */
export function mediaTypeOf(contentType: string): string {
  return contentType.split(';')[0]?.trim().toLowerCase() ?? '';
}

const typesOf = (format: UploadFormat): readonly string[] => ENCODINGS[format].in.types;

/** Returns the format from `fmt` or the media type; undefined if they tell none. */
function formatOf(
  formats: readonly UploadFormat[],
  fmt: string | undefined,
  contentType: string,
): UploadFormat | undefined {
  const mediaType = mediaTypeOf(contentType);
  if (fmt === undefined && VAGUE_TYPES.has(mediaType)) return undefined;
  const isMeant = (name: UploadFormat): boolean =>
    fmt === undefined ? typesOf(name).includes(mediaType) : name === fmt;
  const found = formats.find(isMeant);
  if (found !== undefined) return found;
  const given = fmt === undefined ? `Content-Type ${quoted(contentType)}` : `fmt=${quoted(fmt)}`;
  if (UPLOAD_FORMATS.some(isMeant)) throw notStored(given, formats);
  throw new ServiceError('unsupported_media_type', `${given} is not an upload format.`, {
    hint: `Send one of these as Content-Type: ${formats.flatMap(typesOf).join(', ')}; or add ?fmt=${formats.join(' or ?fmt=')}; or send neither, and the first bytes tell the format.`,
  });
}

function notStored(what: string, formats: readonly UploadFormat[]): ServiceError {
  return new ServiceError('unsupported_media_type', `${what} is not supported: this server stores frames in memory.`, {
    hint: `Send ${formats.join(', ')}.`,
  });
}

/** Recognises a body by its first bytes, and decompresses it if it is compressed. */
export async function recognised(
  { uploadFormats, maxUploadBytes: maxBytes }: Service,
  received: Pick<UploadBody, 'body' | 'contentType'>,
  options: RecogniseOptions,
): Promise<UploadBody> {
  let { head, body } = await peek(received.body);
  let found = recogniseFormat(head, options);
  if (found.kind === 'compressed') {
    ({ head, body } = await peek(decompressBody(body, found.coding, { maxBytes })));
    found = recogniseFormat(head, options);
  }
  if (head.length === 0) {
    throw new ServiceError('invalid_data', 'The body is empty, and Content-Type does not tell the format.', {
      hint: 'Send the rows as the body of the request.',
    });
  }
  if (found.kind === 'unsupported')
    throw new ServiceError('unsupported_media_type', found.message, { hint: found.hint });
  if (found.kind === 'compressed') {
    throw new ServiceError('unsupported_media_type', 'The body is compressed more than once.', {
      hint: 'Compress the body once, or send it as it is.',
    });
  }
  const { format } = found;
  const { contentType } = received;
  if (!uploadFormats.includes(format)) throw notStored(`A body in the format ${format}`, uploadFormats);
  if (format === 'csv' && mediaTypeOf(contentType) === FORM) checkLines(head);
  return { format, body, contentType, head };
}

/**
 * `curl --data-binary` declares any file as a form. A body without line ends is a real form, or a file that `curl -d` has
 * stripped of them.
 */
function checkLines(head: Uint8Array): void {
  if (head.includes(0x0a) || head.includes(0x0d)) return;
  throw new ServiceError('unsupported_media_type', `The body is one line of the type ${FORM}, and not a CSV file.`, {
    hint: 'Send a file with curl -T or --data-binary, as -d removes the line ends; an HTML form needs enctype="multipart/form-data".',
  });
}

/** Reads the first bytes of a body. Also returns the complete body. */
async function peek(rest: BodyChunks): Promise<{ readonly head: Uint8Array; readonly body: BodyChunks }> {
  let bytes = 0;
  const { head, all } = await readHead(rest, (chunk) => (bytes += chunk.byteLength) >= RECOGNISED_BYTES);
  return { head: Buffer.concat(head).subarray(0, RECOGNISED_BYTES), body: all };
}

/** Older names of codings. */
const ALIASES: Readonly<Record<string, string>> = { 'x-gzip': 'gzip', 'x-zstd': 'zstd' };

/** Parses `Content-Encoding`; undefined if the body is not compressed. */
export function parseContentEncoding(header: string | undefined): ContentCoding | undefined {
  const names = (header ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  const [first = ''] = names;
  const coding = CONTENT_CODINGS.find((name) => name === (ALIASES[first] ?? first));
  if (names.length === 0 || (coding !== undefined && names.length === 1)) return coding;
  const what = names.length > 1 ? 'has more than one coding' : 'is not supported';
  throw new ServiceError('unsupported_media_type', `Content-Encoding: ${quoted(header ?? '')} ${what}.`, {
    hint: `Compress the body once, with ${CONTENT_CODINGS.join(' or ')}, or send it as it is.`,
  });
}
