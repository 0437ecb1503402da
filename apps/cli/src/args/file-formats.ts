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
 * What `svc` needs of `ENCODINGS`. Only its type is imported: the package brings Arrow along, and every command would take
 * nearly twice as long to start. Each text in the table is a type of its own, so the compiler finds what differs here.
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

/** The formats that rows can be printed and written in. */
export const OUTPUT_FORMATS: readonly ResultFormat[] = Object.keys(FILE_FORMATS).filter(isOutputFormat);

/** The formats that can be put. */
export const INPUT_FORMATS: readonly UploadFormat[] = Object.keys(FILE_FORMATS).filter(isInputFormat);

/** Whether it is the name of a format that can be put. */
export function isInputFormat(name: string): name is UploadFormat {
  return isFormat(name) && FILE_FORMATS[name].in !== undefined;
}

/** The format of a file to be put, by its name. */
export function inputFormat(file: string): UploadFormat | undefined {
  return INPUT_FORMATS.find((format) => inputExtensions(format).includes(extensionOf(file)));
}

/** A line of the help for each format that can be put: its name, its extensions, what it is. */
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

/** The content type of rows in a format. */
export function outputContentType(format: ResultFormat): string {
  return FILE_FORMATS[format].out.contentType;
}

/** How the name of a file with rows in a format ends. */
export function outputExtension(format: ResultFormat): string {
  return FILE_FORMATS[format].out.extension;
}

/** What the name of a file says about the rows to be written to it. */
export type OutputName =
  | { readonly kind: 'format'; readonly format: ResultFormat }
  /** An Arrow IPC file, whose readers refuse the stream that the server sends; `better` is a name for the stream. */
  | { readonly kind: 'arrow-file'; readonly better: string }
  | { readonly kind: 'unknown' };

/** The format of a file to be written, by its name. */
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
