import { extname } from 'node:path';
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
      extensions: ['csv'],
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

/** Returns the upload format of a file, by its name. */
export function inputFormat(file: string): UploadFormat | undefined {
  return INPUT_FORMATS.find((format) => inputExtensions(format).includes(extensionOf(file)));
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
  /** An Arrow IPC file: its readers refuse the stream that the server sends. `better` is a name for the stream. */
  | { readonly kind: 'arrow-file'; readonly better: string }
  | { readonly kind: 'unknown' };

/** Returns the output format of a file, by its name. */
export function outputFormat(file: string): OutputName {
  const extension = extensionOf(file);
  const format = OUTPUT_FORMATS.find((name) => FILE_FORMATS[name].out.extension === extension) ?? inputAsOutput(file);
  if (format === undefined) return { kind: 'unknown' };
  const ownExtension = FILE_FORMATS[format].out.extension;
  if (format !== 'arrow' || extension === ownExtension) return { kind: 'format', format };
  return { kind: 'arrow-file', better: `${file.slice(0, -extension.length)}${ownExtension}` };
}

function inputAsOutput(file: string): ResultFormat | undefined {
  const format = inputFormat(file);
  return format !== undefined && isOutputFormat(format) ? format : undefined;
}

function isOutputFormat(name: string): name is ResultFormat {
  return isFormat(name) && FILE_FORMATS[name].out !== undefined;
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
