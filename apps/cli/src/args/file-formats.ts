import { basename, extname } from 'node:path';
import type { ResultFormat, ENCODINGS, Format, UploadFormat } from '@svc/frames';

type Encodings = typeof ENCODINGS;

type FileFormats = {
  readonly [Name in Format]: {
    readonly in: Encodings[Name] extends { readonly in: infer In extends object }
      ? Pick<In, keyof In & ('extensions' | 'description')>
      : undefined;
    readonly out: Encodings[Name] extends { readonly out: infer Out extends object }
      ? Pick<Out, keyof Out & ('extension' | 'contentType')>
      : undefined;
  };
};

/**
 * The part of `ENCODINGS` that `svc` needs. Only its type is imported: the package loads Arrow, and every command would
 * take nearly twice as long to start. The texts in that table are literal types, so the compiler reports a difference.
 */
const FILE_FORMATS: FileFormats = {
  json: {
    in: { extensions: ['json'], description: 'Rows: an array of objects.' },
    out: { extension: 'json', contentType: 'application/json; charset=utf-8' },
  },
  ndjson: {
    in: { extensions: ['ndjson', 'jsonl'], description: 'Rows: one JSON object per line.' },
    out: { extension: 'ndjson', contentType: 'application/x-ndjson' },
  },
  csv: {
    in: {
      extensions: ['csv', 'tsv'],
      description: 'CSV with any delimiter.',
    },
    out: { extension: 'csv', contentType: 'text/csv; charset=utf-8; header=present' },
  },
  arrow: {
    in: { extensions: ['arrow', 'arrows', 'feather', 'ipc'], description: 'Arrow IPC, as a stream or as a file.' },
    out: { extension: 'arrows', contentType: 'application/vnd.apache.arrow.stream' },
  },
  parquet: {
    in: { extensions: ['parquet'], description: 'Parquet.' },
    out: { extension: 'parquet', contentType: 'application/vnd.apache.parquet' },
  },
};

/** The formats for output. */
export const OUTPUT_FORMATS: readonly ResultFormat[] = Object.keys(FILE_FORMATS).filter(isOutputFormat);

/** The formats for uploads. */
export const INPUT_FORMATS: readonly UploadFormat[] = Object.keys(FILE_FORMATS).filter(isInputFormat);

/** Whether the name is an upload format. */
export function isInputFormat(name: string): name is UploadFormat {
  return isFormat(name) && FILE_FORMATS[name].in !== undefined;
}

/** The compressions of a file, by extension, as the names that HTTP has for them. */
const COMPRESSIONS = { gz: 'gzip', zst: 'zstd' } as const;

/** What the name of a file says about its content. */
export interface InputName {
  /** Undefined if the extension is not one of an upload format. */
  readonly format: UploadFormat | undefined;
  /** Undefined if the file is not compressed as a whole. */
  readonly contentEncoding: (typeof COMPRESSIONS)[keyof typeof COMPRESSIONS] | undefined;
  /** The delimiter, if the extension implies one. */
  readonly delimiter: string | undefined;
  /** The name without its folder and without these extensions: `trades` for `data/trades.csv.gz`. */
  readonly stem: string;
}

/** Reads the format and the compression of a file from its name. */
export function readInputName(file: string): InputName {
  const outer = extensionOf(file);
  const contentEncoding = isCompression(outer) ? COMPRESSIONS[outer] : undefined;
  const whole = basename(file);
  const plain = contentEncoding === undefined ? whole : whole.slice(0, -outer.length - 1);
  const extension = extensionOf(plain);
  const format = INPUT_FORMATS.find((name) => inputExtensions(name).includes(extension));
  return {
    format,
    contentEncoding,
    delimiter: extension === 'tsv' ? '\t' : undefined,
    stem: format === undefined ? plain : plain.slice(0, -extension.length - 1),
  };
}

/** Formats a line of the help for each upload format: name, extensions, description. */
export function describeInputFormats(): readonly string[] {
  const rows = INPUT_FORMATS.map((format) => ({
    format,
    extensions: inputExtensions(format)
      .map((extension) => `.${extension}`)
      .join(', '),
  }));
  const width = Math.max(...rows.map(({ extensions }) => extensions.length));
  return rows.map(
    ({ format, extensions }) =>
      `  ${format.padEnd(7)}  ${extensions.padEnd(width)}  ${FILE_FORMATS[format].in.description}`,
  );
}

/** The content type of an Arrow IPC file, which is not that of a stream. */
export const ARROW_FILE_TYPE = 'application/vnd.apache.arrow.file';

/** Returns the content type of an output format. */
export function outputContentType(format: ResultFormat): string {
  return FILE_FORMATS[format].out.contentType;
}

/** Returns the file extension of an output format. */
export function outputExtension(format: ResultFormat): string {
  return FILE_FORMATS[format].out.extension;
}

/** The output format that a file name implies. */
export type OutputName =
  | { readonly kind: 'format'; readonly format: ResultFormat }
  /** An Arrow IPC file: its readers refuse a stream. `better` is a name for a stream. */
  | { readonly kind: 'arrow-file'; readonly better: string }
  /** A name of rows that `svc` reads but does not write. `why` is a sentence without a full stop. */
  | { readonly kind: 'only-read'; readonly format: ResultFormat; readonly why: string }
  | { readonly kind: 'unknown' };

/** Returns the output format of a file, by its name. */
export function outputFormat(file: string): OutputName {
  const extension = extensionOf(file);
  const { format: read, contentEncoding, delimiter } = readInputName(file);
  const asRead = read !== undefined && isOutputFormat(read) ? read : undefined;
  const format = OUTPUT_FORMATS.find((name) => FILE_FORMATS[name].out.extension === extension) ?? asRead;
  if (format === undefined) return { kind: 'unknown' };
  if (contentEncoding !== undefined) return { kind: 'only-read', format, why: 'svc does not compress its output' };
  if (delimiter !== undefined) return { kind: 'only-read', format, why: 'svc writes CSV with commas' };
  const ownExtension = FILE_FORMATS[format].out.extension;
  if (format !== 'arrow' || extension === ownExtension) return { kind: 'format', format };
  return { kind: 'arrow-file', better: `${file.slice(0, -extension.length)}${ownExtension}` };
}

function isOutputFormat(name: string): name is ResultFormat {
  return isFormat(name) && FILE_FORMATS[name].out !== undefined;
}

function isCompression(extension: string): extension is keyof typeof COMPRESSIONS {
  return Object.hasOwn(COMPRESSIONS, extension);
}

function isFormat(name: string): name is Format {
  return Object.hasOwn(FILE_FORMATS, name);
}

function inputExtensions(format: UploadFormat): readonly string[] {
  return FILE_FORMATS[format].in.extensions;
}

function extensionOf(file: string): string {
  return extname(file).slice(1).toLowerCase();
}
