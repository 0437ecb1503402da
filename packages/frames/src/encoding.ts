import type { FrameStream } from './frame-stream.ts';

/** Bounds of a decoding. */
export interface DecodeOptions {
  /** Ends the decoding. */
  readonly signal?: AbortSignal;
  /** Bytes of memory the decoded frame may take, else `out_of_memory`. Default: no limit of its own. */
  readonly maxBytes?: number;
}

/**
 * A body that is in a file, or on its way into one. It may be of any size: batches do not count any more once they are
 * handed on, and rows of JSON that are too many to hold are read twice, first for their columns.
 */
export interface FileBody {
  readonly path: string;
  /** Waits until more than so many bytes are in the file, and says how many; just as many where no more will come. */
  grown(beyond: number): Promise<number>;
}

/** Writes a frame as a Parquet file. What it makes on the way is gone when it ends, however it ends. */
export type ParquetEncoder = (stream: FrameStream, signal: AbortSignal) => AsyncGenerator<Uint8Array, void>;

/** One row of `ENCODINGS`: a format frames are read or written in. */
export interface EncodingRow {
  /** How frames are uploaded in this format; left out where they cannot be. */
  readonly in?: {
    /** The media types of such an upload. */
    readonly types: readonly string[];
    /** How names of files in this format end. */
    readonly extensions: readonly string[];
    /** What the format is, for the documentation. */
    readonly description: string;
  };
  /** How frames are sent in this format; left out where they are not. */
  readonly out?: {
    readonly contentType: string;
    /** How the name of a file with the answer ends. */
    readonly extension: string;
    /** What the format is, for the documentation. */
    readonly description: string;
  };
}

/** The formats there are. */
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
      description: 'Rows: one JSON object a line.',
    },
    out: { contentType: 'application/x-ndjson', extension: 'ndjson', description: 'One JSON object a line.' },
  },
  csv: {
    in: {
      types: ['text/csv'],
      extensions: ['csv'],
      description: 'CSV, of any delimiter.',
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

/** The name of a format that frames can be uploaded in. */
export type UploadFormat = {
  [Name in Format]: (typeof ENCODINGS)[Name] extends { in: object } ? Name : never;
}[Format];

/** The name of a format that frames are sent in. */
export type ResultFormat = {
  [Name in Format]: (typeof ENCODINGS)[Name] extends { out: object } ? Name : never;
}[Format];

/** The formats of files that only some stores read, by themselves. */
export const FILE_FORMATS = ['csv', 'parquet'] as const satisfies readonly UploadFormat[];

/** The name of a format of files that only some stores read. */
export type FileFormat = (typeof FILE_FORMATS)[number];

/** The name of a format that decoders read, for stores that do not by themselves. */
export type DecodedFormat = Exclude<UploadFormat, FileFormat>;

/** Whether files of this format are read by stores alone, and not by decoders. */
export function isFileFormat(format: UploadFormat): format is FileFormat {
  return FILE_FORMATS.some((name) => name === format);
}

/** The formats that frames can be uploaded in. */
export const UPLOAD_FORMATS: readonly UploadFormat[] = Object.keys(ENCODINGS).filter(isUploadFormat);

function isUploadFormat(name: string): name is UploadFormat {
  const rows: Readonly<Record<string, EncodingRow>> = ENCODINGS;
  return rows[name]?.in !== undefined;
}
