import type { Schema } from 'apache-arrow';
import type { RequestOrigin } from './call.ts';
import type { DeclaredColumn } from './column-types.ts';
import type { FrameStream } from './streams.ts';

/** The compressions of an upload. */
export const CONTENT_CODINGS = ['gzip', 'zstd'] as const;

/** The compression of an upload. */
export type ContentCoding = (typeof CONTENT_CODINGS)[number];

/** The character encodings of CSV uploads, each with its other names. */
const CSV_ENCODING_NAMES = {
  'utf-8': ['utf8', 'us-ascii', 'ascii'],
  'utf-16': ['utf16'],
  'utf-16le': ['utf16le'],
  'utf-16be': ['utf16be'],
  'latin-1': ['latin1', 'iso-8859-1', 'iso8859-1'],
  'windows-1252': ['cp1252', 'cp-1252'],
} as const satisfies Record<string, readonly string[]>;

/**
 * A character encoding. `utf-16` is little endian unless its byte order mark or its first character says otherwise.
 * `latin-1` is ISO 8859-1: the bytes 80 to 9F are control characters. In `windows-1252` they are `€`, quotes and dashes.
 */
export type CsvEncoding = keyof typeof CSV_ENCODING_NAMES;

/** All encodings, by their main names. */
export const CSV_ENCODINGS: readonly CsvEncoding[] = [
  'utf-8',
  'utf-16',
  'utf-16le',
  'utf-16be',
  'latin-1',
  'windows-1252',
];

/** Finds an encoding by one of its names, in any letter case. */
export function csvEncodingFrom(name: string): CsvEncoding | undefined {
  const wanted = name.toLowerCase().replaceAll('_', '-');
  return CSV_ENCODINGS.find((one) => one === wanted || CSV_ENCODING_NAMES[one].some((other) => other === wanted));
}

/** Limits of a decode. */
export interface DecodeOptions {
  /** Cancels the decode. */
  readonly signal?: AbortSignal;
  /** The request that sent the bytes. Decoders are shared fairly by its tenant and client. */
  readonly origin?: RequestOrigin;
  /** The memory limit of the decoded frame in bytes; more is `out_of_memory`. Default: no separate limit. */
  readonly maxBytes?: number;
  /**
   * The columns of JSON and NDJSON, in order. A key that is not among them, or a value that is not exactly of the declared
   * type, is `invalid_data`. Default: the keys of the rows, with the types of their values.
   */
  readonly columns?: readonly DeclaredColumn[];
  /**
   * The schema of the frame to which rows of JSON or NDJSON are appended: they have its columns, and values are read as
   * its types.
   */
  readonly addedTo?: Schema;
  /**
   * True if a column of an Arrow stream may be a union. It becomes a column of the type of its values, or of one that holds
   * them all unchanged; without such a type, it is `invalid_data`. All rows are read before the frame is returned. Default
   * false: a union is `invalid_data`.
   */
  readonly unions?: boolean;
}

/**
 * A body in a file that may still be growing. It may be of any size: a batch stops counting once it is passed on, and
 * JSON rows that do not fit in memory are read twice, first for their columns.
 */
export interface FileBody {
  readonly path: string;
  /**
   * Waits until the file has more than `beyond` bytes, and returns its size; returns `beyond` if the file is complete.
   */
  grown(beyond: number): Promise<number>;
}

/** Writes a frame as a Parquet file. Removes its temporary files when it ends, also on failure. */
export type ParquetEncoder = (stream: FrameStream, signal: AbortSignal) => AsyncGenerator<Uint8Array, void>;

/** One row of `ENCODINGS`: a format for reading or writing frames. */
export interface EncodingRow {
  /** For uploads in this format; undefined if not supported. */
  readonly in?: {
    /** The media types of an upload. */
    readonly types: readonly string[];
    /** The file name extensions. */
    readonly extensions: readonly string[];
    /** For the documentation. */
    readonly description: string;
  };
  /** For results in this format; undefined if not supported. */
  readonly out?: {
    readonly contentType: string;
    /** The file name extension of a download. */
    readonly extension: string;
    /** For the documentation. */
    readonly description: string;
  };
}

/** All formats. */
export const ENCODINGS = {
  json: {
    in: { types: ['application/json'], extensions: ['json'], description: 'Rows: an array of objects.' },
    out: {
      contentType: 'application/json; charset=utf-8',
      extension: 'json',
      description: 'The JSON table of `/exec`.',
    },
  },
  ndjson: {
    in: {
      types: ['application/x-ndjson'],
      extensions: ['ndjson', 'jsonl'],
      description: 'Rows: one JSON object per line.',
    },
    out: { contentType: 'application/x-ndjson', extension: 'ndjson', description: 'One JSON object per line.' },
  },
  csv: {
    in: {
      types: ['text/csv'],
      extensions: ['csv', 'tsv'],
      description: 'CSV with any delimiter.',
    },
    out: {
      contentType: 'text/csv; charset=utf-8; header=present',
      extension: 'csv',
      description: 'Comma-separated values as in RFC 4180, with a header row.',
    },
  },
  arrow: {
    in: {
      types: ['application/vnd.apache.arrow.stream', 'application/vnd.apache.arrow.file'],
      extensions: ['arrow', 'arrows', 'feather', 'ipc'],
      description: 'Arrow IPC, as a stream or as a file.',
    },
    out: {
      contentType: 'application/vnd.apache.arrow.stream',
      extension: 'arrows',
      description: 'An Arrow IPC stream.',
    },
  },
  parquet: {
    in: {
      types: ['application/vnd.apache.parquet'],
      extensions: ['parquet'],
      description: 'Parquet.',
    },
    out: {
      contentType: 'application/vnd.apache.parquet',
      extension: 'parquet',
      description: 'A Parquet file, compressed with zstd.',
    },
  },
} as const satisfies Record<string, EncodingRow>;

/** The name of a format. */
export type Format = keyof typeof ENCODINGS;

/** The name of an upload format. */
export type UploadFormat = {
  [Name in Format]: (typeof ENCODINGS)[Name] extends { in: object } ? Name : never;
}[Format];

/** The name of a result format. */
export type ResultFormat = {
  [Name in Format]: (typeof ENCODINGS)[Name] extends { out: object } ? Name : never;
}[Format];

/** The formats that only a store can read, and only some stores do. */
export const FILE_FORMATS = ['csv', 'parquet'] as const satisfies readonly UploadFormat[];

/** The name of a format that only a store can read. */
export type FileFormat = (typeof FILE_FORMATS)[number];

/** The name of a format `Decoders` read, for stores that do not. */
export type DecodedFormat = Exclude<UploadFormat, FileFormat>;

/** True if only stores, and not `Decoders`, read this format. */
export function isFileFormat(format: UploadFormat): format is FileFormat {
  return FILE_FORMATS.some((name) => name === format);
}

/** The upload formats. */
export const UPLOAD_FORMATS: readonly UploadFormat[] = Object.keys(ENCODINGS).filter(isUploadFormat);

function isUploadFormat(name: string): name is UploadFormat {
  const rows: Readonly<Record<string, EncodingRow>> = ENCODINGS;
  return rows[name]?.in !== undefined;
}

/** What the first bytes of a body are. */
export type RecognisedBody =
  | { readonly kind: 'format'; readonly format: UploadFormat }
  /** The content is recognised after decompression. */
  | { readonly kind: 'compressed'; readonly coding: ContentCoding }
  /** Something that cannot be read, in a sentence with a hint. */
  | { readonly kind: 'unsupported'; readonly message: string; readonly hint: string };

/** The number of bytes `recogniseFormat` needs, unless the body is shorter. */
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
