import { basename, extname } from 'node:path';
import type { ENCODINGS, Format, ResultFormat, UploadFormat } from '@svc/frames';
import type { Arguments, CommandOption } from './command.ts';
import { DASH } from './source.ts';
import { CliError } from '../errors.ts';
import type { Output } from '../output/output.ts';
import type { RowsFormat } from '../output/print-result.ts';

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
 * What `svc` needs of `ENCODINGS`. Only its type is imported: the package loads Arrow, and every command would take
 * nearly twice as long to start. The texts of the table are literal types, so the compiler reports a difference.
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

/** True for an upload format. */
export function isInputFormat(name: string): name is UploadFormat {
  return isFormat(name) && FILE_FORMATS[name].in !== undefined;
}

/** The compressions of a file, by extension, with their names in HTTP. */
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

/** A stream has another one. */
export const ARROW_FILE_TYPE = 'application/vnd.apache.arrow.file';

/** Returns the content type of an output format. */
export function outputContentType(format: ResultFormat): string {
  return FILE_FORMATS[format].out.contentType;
}

/** Returns the file extension of an output format. */
export function outputExtension(format: ResultFormat): string {
  return FILE_FORMATS[format].out.extension;
}

/** The output format of a file name. */
export type OutputName =
  | { readonly kind: 'format'; readonly format: ResultFormat }
  /** An Arrow IPC file: its readers refuse a stream. `better` is a name for a stream. */
  | { readonly kind: 'arrow-file'; readonly better: string }
  /** Rows that `svc` reads but does not write. `why` is a sentence without a full stop. */
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

/** The destination and format of rows. */
export interface ResultTarget extends RowsFormat {
  /** The file name is one of an Arrow IPC file, and not of a stream. */
  readonly isArrowFile: boolean;
  /** Undefined: the standard output. */
  readonly file: string | undefined;
}

/** The line of the help for all formats. */
const FORMATS_LINE = ['--<format>', 'json, ndjson, csv, arrow or parquet instead of a table.'] as const;

const FORMAT_OPTIONS: Readonly<Record<ResultFormat, CommandOption>> = {
  json: { summary: 'Print the JSON table of the server unchanged.' },
  csv: { summary: 'Print CSV with a header row.' },
  ndjson: { summary: 'Print one JSON object per row.' },
  arrow: { summary: 'Print an Arrow IPC stream.' },
  parquet: { summary: 'Print a Parquet file.' },
};

const OUTPUT_OPTION: CommandOption = {
  short: 'o',
  value: '<file>',
  summary: 'Write to a file, in the format of its extension.',
};

/** The flags of a command with rows in one of these formats, or as a table. */
export function resultOptions(formats: readonly ResultFormat[]): Readonly<Record<string, CommandOption>> {
  return {
    ...Object.fromEntries(formats.map((format) => [format, { ...FORMAT_OPTIONS[format], line: FORMATS_LINE }])),
    expanded: { short: 'x', summary: 'A table with one column per line.' },
    all: { summary: 'A table with all rows and columns, nothing cut.' },
    output: OUTPUT_OPTION,
  };
}

/** Reads those flags. */
export function resultTarget(args: Arguments, formats: readonly ResultFormat[], stdout: Output): ResultTarget {
  const asked = formats.filter((format) => args.has(format));
  if (asked.length > 1) {
    const both = asked.map((format) => `--${format}`).join(' and ');
    throw new CliError('usage', `${both} cannot be combined.`, { hint: 'Give one of them.' });
  }
  const output = args.text('output');
  const file = output === DASH ? undefined : output;
  const given = asked.at(0);
  const { format, isArrowFile } =
    given === undefined && file !== undefined
      ? formatOfName(file, formats)
      : { format: given ?? ('table' as const), isArrowFile: false };
  if (file === undefined) refuseTerminal(format, stdout);
  const isExpanded = args.has('expanded');
  if (isExpanded && format !== 'table') {
    throw new CliError('usage', `--expanded applies to tables only, and the format is ${format}.`, {
      hint: 'Leave it out.',
    });
  }
  const isWhole = args.has('all');
  if (isWhole && args.text('limit') !== undefined) {
    throw new CliError('usage', '--all and --limit cannot be combined.', { hint: 'Give one of them.' });
  }
  return { format, isArrowFile, file, isExpanded, isWhole };
}

/** Refuses to print a binary format to a terminal. */
export function refuseTerminal(format: ResultTarget['format'], stdout: Output): void {
  if (!isBinary(format) || stdout.width === undefined) return;
  throw new CliError('usage', `${BINARY_NAMES[format]} is a binary format and cannot be shown on a terminal.`, {
    hint: `Write it to a file such as trades.${outputExtension(format)}, pipe it, or choose another format.`,
  });
}

const BINARY_NAMES = { arrow: 'Arrow', parquet: 'Parquet' } as const;

function isBinary(format: string): format is keyof typeof BINARY_NAMES {
  return Object.hasOwn(BINARY_NAMES, format);
}

/** Refuses the name of an Arrow IPC file for an IPC stream. `why` follows "but". */
export function refuseArrowFile({ isArrowFile, file }: Pick<ResultTarget, 'isArrowFile' | 'file'>, why: string): void {
  if (!isArrowFile || file === undefined) return;
  const named = outputFormat(file);
  throw new CliError('usage', `${JSON.stringify(file)} names an Arrow IPC file, but ${why}.`, {
    hint: `Call it ${JSON.stringify(named.kind === 'arrow-file' ? named.better : file)}, or use --arrow to write an IPC stream under this name anyway.`,
  });
}

/** Returns the output format of a file name. `flagOf` formats the flag for the hint. */
export function formatOfName(
  file: string,
  formats: readonly ResultFormat[],
  flagOf: (format: ResultFormat) => string = (format) => `--${format}`,
): { readonly format: ResultFormat; readonly isArrowFile: boolean } {
  const named = outputFormat(file);
  if (named.kind === 'format' && formats.includes(named.format)) return { format: named.format, isArrowFile: false };
  if (named.kind === 'arrow-file' && formats.includes('arrow')) return { format: 'arrow', isArrowFile: true };
  if (named.kind === 'only-read' && formats.includes(named.format)) {
    throw new CliError('usage', `${JSON.stringify(file)} is not a name for output: ${named.why}.`, {
      hint: `Choose a name that ends with .${outputExtension(named.format)}, or pipe the rows into another program.`,
    });
  }
  throw new CliError('usage', `Cannot tell an output format from the name ${JSON.stringify(file)}.`, {
    hint: `Use ${formats.map(flagOf).join(' or ')}.`,
  });
}
