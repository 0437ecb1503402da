import type { ContentCoding } from './content-coding.ts';
import type { UploadFormat } from './encoding.ts';

/** What the first bytes of a body are. */
export type RecognisedBody =
  | { readonly kind: 'format'; readonly format: UploadFormat }
  /** The content is recognised after decompression. */
  | { readonly kind: 'compressed'; readonly coding: ContentCoding }
  /** Something that cannot be read, in a sentence with a hint. */
  | { readonly kind: 'unsupported'; readonly message: string; readonly hint: string };

/** The number of bytes that `recogniseFormat` needs, unless the body is shorter. */
export const RECOGNISED_BYTES = 4096;

const FORMATS: readonly (readonly [magic: string, format: UploadFormat])[] = [
  ['PAR1', 'parquet'],
  // A Parquet file with an encrypted footer, which the reader explains.
  ['PARE', 'parquet'],
  ['ARROW1', 'arrow'],
  // The first message of an IPC stream: a continuation marker and the length of its metadata.
  ['\xff\xff\xff\xff', 'arrow'],
];

const EXPORT_HINT =
  'Excel files are not read. Save the sheet as "CSV UTF-8 (Comma delimited)" and send that file: in Excel with File > Save As, in LibreOffice with File > Save As > Text CSV.';

const DATA_HINT = 'Send the data as CSV, JSON, Parquet or Arrow.';
const ARCHIVE_HINT = 'Send the file in the archive, as it is or compressed with gzip or zstd.';

/** Files that are often sent by mistake: their first bytes, and a text near the start. */
const OTHERS: readonly (readonly [magic: string, text: string, what: string, hint: string])[] = [
  ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', '', 'an Excel file (.xls)', EXPORT_HINT],
  ['PK\x03\x04', 'xl/', 'an Excel file (.xlsx)', EXPORT_HINT],
  ['PK\x03\x04', '[Content_Types].xml', 'an Office file, for example .xlsx', EXPORT_HINT],
  ['PK\x03\x04', 'opendocument.spreadsheet', 'a spreadsheet (.ods)', EXPORT_HINT],
  ['PK\x03\x04', '', 'a ZIP archive', ARCHIVE_HINT],
  ['PK\x05\x06', '', 'an empty ZIP archive', ARCHIVE_HINT],
  ['7z\xbc\xaf\x27\x1c', '', 'a 7z archive', ARCHIVE_HINT],
  ['\xfd7zXZ\0', '', 'compressed with xz', ARCHIVE_HINT],
  ['BZh', '1AY&SY', 'compressed with bzip2', ARCHIVE_HINT],
  ['%PDF-', '', 'a PDF file', DATA_HINT],
];

/** What is known about a body. */
export interface RecogniseOptions {
  /** The format of a body that is text, in any encoding. Default: recognised. */
  readonly text?: 'csv' | undefined;
}

/**
 * Recognises the format of a body by its first `RECOGNISED_BYTES` bytes. Text that is not JSON is CSV. An array is JSON,
 * and an object is the first line of NDJSON.
 */
export function recogniseFormat(head: Uint8Array, { text: known }: RecogniseOptions = {}): RecognisedBody {
  const text = Buffer.from(head.subarray(0, RECOGNISED_BYTES)).toString('latin1');
  if (text.startsWith('\x1f\x8b')) return { kind: 'compressed', coding: 'gzip' };
  if (text.startsWith('\x28\xb5\x2f\xfd') || (/^[P-_]/.test(text) && text.startsWith('*M\x18', 1))) {
    return { kind: 'compressed', coding: 'zstd' };
  }
  const [, binary] = FORMATS.find(([magic]) => text.startsWith(magic)) ?? [];
  if (binary !== undefined) return { kind: 'format', format: binary };
  const [, , what, hint = DATA_HINT] =
    OTHERS.find(([magic, inside]) => text.startsWith(magic) && text.includes(inside)) ?? [];
  if (what !== undefined) return unsupported(`The body is ${what}, which cannot be read.`, hint);
  if (/^\s*<(?:\?xml|!doctype|html)/i.test(text)) {
    return unsupported('The body is HTML or XML, which cannot be read.', DATA_HINT);
  }
  return known === undefined ? recogniseText(text) : { kind: 'format', format: known };
}

function recogniseText(text: string): RecognisedBody {
  const isUtf16 = text.startsWith('\xff\xfe') || text.startsWith('\xfe\xff');
  const visible = isUtf16 ? text.slice(2).replaceAll('\0', '') : text.replace(/^\xef\xbb\xbf/, '');
  const json = /^\s*\[\s*(?:[{["\]\d-]|$)/.test(visible)
    ? 'json'
    : /^\s*\{\s*(?:["}]|$)/.test(visible)
      ? 'ndjson'
      : undefined;
  if (isUtf16 && json !== undefined) return unsupported('The body is JSON in UTF-16.', 'Send JSON in UTF-8.');
  if (json !== undefined) return { kind: 'format', format: json };
  if (isUtf16 || !text.includes('\0')) return { kind: 'format', format: 'csv' };
  return unsupported(
    'The body is neither text nor Parquet nor Arrow: it contains zero bytes.',
    'Send CSV, JSON, NDJSON, Parquet or Arrow IPC; text in UTF-8, or in UTF-16 with a byte order mark. CSV in another encoding needs ?encoding=. Write Arrow streams in the format of Arrow 0.15 or later.',
  );
}

function unsupported(message: string, hint: string): RecognisedBody {
  return { kind: 'unsupported', message, hint };
}
