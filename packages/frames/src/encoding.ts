/** Bounds of a decoding. */
export interface DecodeOptions {
  /** Ends the decoding. */
  readonly signal?: AbortSignal;
  /** Bytes of memory the decoded frame may take, else `out_of_memory`. */
  readonly maxBytes?: number;
}

/** One row of `ENCODINGS`: a format frames can be read or written in. */
export interface EncodingRow {
  /** The media type of answers in this format. */
  readonly contentType: string;
  /** The media types that uploads in this format come with; none where it cannot be uploaded. */
  readonly uploadTypes: readonly string[];
  /** How the name of a file in this format ends. */
  readonly extension: string;
  /** What the format is, for the documentation. */
  readonly description: string;
}

/** The formats there are. */
export const ENCODINGS = {
  json: {
    contentType: 'application/json; charset=utf-8',
    uploadTypes: ['application/json'],
    extension: 'json',
    description: 'Out: the JSON table of `/exec`. In: rows, an array of objects.',
  },
  ndjson: {
    contentType: 'application/x-ndjson',
    uploadTypes: ['application/x-ndjson'],
    extension: 'ndjson',
    description: 'Rows, one JSON object a line.',
  },
  csv: {
    contentType: 'text/csv; charset=utf-8; header=present',
    uploadTypes: [],
    extension: 'csv',
    description: 'Comma-separated values as in RFC 4180, with a header row.',
  },
  arrow: {
    contentType: 'application/vnd.apache.arrow.stream',
    uploadTypes: ['application/vnd.apache.arrow.stream', 'application/vnd.apache.arrow.file'],
    extension: 'arrows',
    description: 'Arrow IPC, as a stream or as a file.',
  },
} as const satisfies Record<string, EncodingRow>;

/** The name of a format. */
export type Format = keyof typeof ENCODINGS;

/** The formats that frames can be uploaded in. */
export const UPLOAD_FORMATS = ['json', 'ndjson', 'arrow'] as const satisfies readonly Format[];

/** The name of a format that frames can be uploaded in. */
export type UploadFormat = (typeof UPLOAD_FORMATS)[number];
