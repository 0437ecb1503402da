import type { ResultFormat } from '@svc/frames';
import type { Arguments } from './command.ts';
import { CliError } from '../errors/cli-error.ts';
import type { CommandOption } from './command.ts';
import { outputExtension, outputFormat } from './file-formats.ts';
import type { Output } from '../output/output.ts';
import { DASH } from './source.ts';

/** Where rows go, and in which form. */
export interface ResultTarget {
  readonly format: ResultFormat | 'table';
  /** Undefined: the standard output. */
  readonly file: string | undefined;
}

const FORMAT_OPTIONS: Readonly<Record<ResultFormat, CommandOption>> = {
  json: { summary: 'Print the JSON table of the server as it is.' },
  csv: { summary: 'Print CSV with a header row.' },
  ndjson: { summary: 'Print one JSON object a row.' },
  arrow: { summary: 'Print an Arrow IPC stream.' },
  parquet: { summary: 'Print a Parquet file.' },
};

const OUTPUT_OPTION: CommandOption = {
  short: 'o',
  value: '<file>',
  summary: 'Write a file, in the format of its extension.',
};

/** The flags of a command that prints rows in one of these formats, or as a table. */
export function resultOptions(formats: readonly ResultFormat[]): Readonly<Record<string, CommandOption>> {
  return {
    ...Object.fromEntries(formats.map((format) => [format, FORMAT_OPTIONS[format]])),
    output: OUTPUT_OPTION,
  };
}

/** What those flags say. */
export function resultTarget(args: Arguments, formats: readonly ResultFormat[], stdout: Output): ResultTarget {
  const asked = formats.filter((format) => args.has(format));
  if (asked.length > 1) {
    const both = asked.map((format) => `--${format}`).join(' and ');
    throw new CliError('usage', `${both} cannot be done together.`, { hint: 'Give one of them.' });
  }
  const output = args.text('output');
  const file = output === DASH ? undefined : output;
  const format = asked.at(0) ?? (file === undefined ? 'table' : formatOfName(file, formats));
  if (file === undefined) refuseTerminal(format, stdout);
  return { format, file };
}

/** Refuses to print a format that only programs read on a terminal. */
export function refuseTerminal(format: ResultTarget['format'], stdout: Output): void {
  if (!isBinary(format) || stdout.width === undefined) return;
  throw new CliError('usage', `${BINARY_NAMES[format]} is bytes for programs, not for a terminal.`, {
    hint: `Write it into a file such as trades.${outputExtension(format)}, pipe it on, or choose another format.`,
  });
}

const BINARY_NAMES = { arrow: 'Arrow', parquet: 'Parquet' } as const;

function isBinary(format: string): format is keyof typeof BINARY_NAMES {
  return Object.hasOwn(BINARY_NAMES, format);
}

/** The format that the name of a file tells; `flagOf` is how it is said otherwise. */
export function formatOfName(
  file: string,
  formats: readonly ResultFormat[],
  flagOf: (format: ResultFormat) => string = (format) => `--${format}`,
): ResultFormat {
  const named = outputFormat(file);
  if (named.kind === 'format' && formats.includes(named.format)) return named.format;
  if (named.kind === 'arrow-file' && formats.includes('arrow')) {
    throw new CliError(
      'usage',
      `${JSON.stringify(file)} is a name for an Arrow IPC file, and a stream is written here.`,
      {
        hint: `Call it ${JSON.stringify(named.better)}, or say ${flagOf('arrow')} to give the stream this name all the same.`,
      },
    );
  }
  throw new CliError('usage', `The name ${JSON.stringify(file)} does not tell a format that can be written here.`, {
    hint: `Say ${formats.map(flagOf).join(' or ')}.`,
  });
}
