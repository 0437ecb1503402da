import { extname } from 'node:path';
import type { Arguments } from './arguments.ts';
import { CliError } from './cli-error.ts';
import type { CommandOption } from './command.ts';
import type { Output } from './output.ts';
import { STDIN } from './source.ts';

/** A form of rows for programs. */
export type ResultFormat = 'json' | 'csv' | 'ndjson' | 'arrow';

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
};

const OUTPUT_OPTION: CommandOption = {
  short: 'o',
  value: '<file>',
  summary: 'Write a file, in the format of its extension.',
};

const FORMAT_OF_EXTENSION: ReadonlyMap<string, ResultFormat> = new Map([
  ['.json', 'json'],
  ['.csv', 'csv'],
  ['.ndjson', 'ndjson'],
  ['.jsonl', 'ndjson'],
  ['.arrow', 'arrow'],
  ['.arrows', 'arrow'],
]);

/** The flags of a command that prints rows in one of these formats, or as a table. */
export function resultOptions(formats: readonly ResultFormat[]): Readonly<Record<string, CommandOption>> {
  return {
    ...Object.fromEntries(formats.map((format) => [format, FORMAT_OPTIONS[format]])),
    output: OUTPUT_OPTION,
  };
}

/** What those flags say. */
export function resultTarget(args: Arguments, formats: readonly ResultFormat[], stdout: Output): ResultTarget {
  const flags = formats.map((format) => `--${format}`);
  const asked = formats.filter((format) => args.has(format));
  if (asked.length > 1) {
    const both = asked.map((format) => `--${format}`).join(' and ');
    throw new CliError('usage', `${both} cannot be done together.`, { hint: 'Give one of them.' });
  }
  const output = args.text('output');
  const file = output === STDIN ? undefined : output;
  const format = asked.at(0) ?? (file === undefined ? 'table' : FORMAT_OF_EXTENSION.get(extname(file).toLowerCase()));
  if (format === undefined || (format !== 'table' && !formats.includes(format))) {
    throw new CliError('usage', `The name ${JSON.stringify(file)} does not tell a format that can be written here.`, {
      hint: `Say ${flags.join(' or ')}.`,
    });
  }
  if (format === 'arrow' && file === undefined && stdout.width !== undefined) {
    throw new CliError('usage', 'Arrow is bytes for programs, not for a terminal.', {
      hint: 'Write it into a file with -o trades.arrows, pipe it on, or leave --arrow out to see a table.',
    });
  }
  return { format, file };
}
