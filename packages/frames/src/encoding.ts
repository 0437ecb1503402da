import type { Schema } from 'apache-arrow';
import type { RequestOrigin } from './call.ts';
import type { DeclaredColumn } from './declared-columns.ts';
import type { FrameStream } from './frame-stream.ts';

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
   * The schema of the frame that rows of JSON or NDJSON are appended to: they have its columns, and values are read as
   * its types.
   */
  readonly addedTo?: Schema;
  /**
   * Whether a column of an Arrow stream may be a union. It becomes a column of the type of its values, or of one that holds
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

/** The name of a format that `Decoders` read, for stores that do not. */
export type DecodedFormat = Exclude<UploadFormat, FileFormat>;

/** Whether only stores, and not `Decoders`, read this format. */
export function isFileFormat(format: UploadFormat): format is FileFormat {
  return FILE_FORMATS.some((name) => name === format);
}

/** The upload formats. */
export const UPLOAD_FORMATS: readonly UploadFormat[] = Object.keys(ENCODINGS).filter(isUploadFormat);

function isUploadFormat(name: string): name is UploadFormat {
  const rows: Readonly<Record<string, EncodingRow>> = ENCODINGS;
  return rows[name]?.in !== undefined;
}
