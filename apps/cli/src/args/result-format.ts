import type { ResultFormat } from '@svc/frames';
import type { Arguments } from './command.ts';
import { CliError } from '../errors/cli-error.ts';
import type { CommandOption } from './command.ts';
import { outputExtension, outputFormat } from './file-formats.ts';
import type { Output } from '../output/output.ts';
import { DASH } from './source.ts';

/** The destination and format of rows. */
export interface ResultTarget {
  readonly format: ResultFormat | 'table';
  /** Whether the name of the file is one of an Arrow IPC file, and not of a stream. */
  readonly isArrowFile: boolean;
  /** Undefined: the standard output. */
  readonly file: string | undefined;
  /** Whether a table has one column per line. */
  readonly isExpanded: boolean;
  /** Whether nothing is left out: a table has all rows and columns, and whole values. */
  readonly isWhole: boolean;
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

/** Returns the flags of a command that prints rows in one of these formats, or as a table. */
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

/** Refuses the name of an Arrow IPC file for rows that come as an IPC stream. `why` follows "but". */
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
