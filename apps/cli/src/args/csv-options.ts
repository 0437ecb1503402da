import type { Arguments } from './command.ts';
import { CliError } from '../errors/cli-error.ts';
import type { CommandOption } from './command.ts';
import type { CsvEncoding } from '@svc/frames';

/** The names of `CSV_ENCODINGS`, as literals: to import that table makes svc start more slowly. */
export const CSV_ENCODING_NAMES: readonly CsvEncoding[] = [
  'utf-8',
  'utf-16',
  'utf-16le',
  'utf-16be',
  'latin-1',
  'windows-1252',
];

const CSV_LINE = ['--columns, --null, ...', 'For CSV: svc help csv lists them.'] as const;

function csvOption(value: string, summary: string): CommandOption {
  return { value, summary, line: CSV_LINE };
}

/** The flag that also applies to JSON and NDJSON. */
const COLUMNS = 'columns';

/** The flags of every command that reads CSV; options that are not given are detected. */
export const CSV_OPTIONS: Readonly<Record<string, CommandOption>> = {
  header: csvOption('<true|false>', 'Whether the first line is a header.'),
  delimiter: csvOption('<text>', 'The delimiter between values.'),
  [COLUMNS]: csvOption('<names>', 'All columns, also of JSON: id:LONG,s.'),
  null: { ...csvOption('<text>', 'A text that means null. May be repeated.'), isRepeatable: true },
  encoding: csvOption('<name>', 'The character encoding. Default: utf-8.'),
  skip: csvOption('<lines>', 'The number of lines before the header.'),
  dateformat: csvOption('<format>', 'How dates are written, as in strftime: %d/%m/%Y.'),
  timestampformat: csvOption('<format>', "The same for times: '%d/%m/%Y %H:%M:%S'."),
};

/** Converts those flags to parameters of an upload. */
export function csvParams(args: Arguments, format: string): Readonly<Record<string, string | readonly string[]>> {
  const given = Object.entries(CSV_OPTIONS).flatMap(([flag, { isRepeatable = false }]) => {
    const texts = args.texts(flag);
    const [text] = texts;
    return text === undefined ? [] : [[flag, isRepeatable ? texts : text] as const];
  });
  const isJson = format === 'json' || format === 'ndjson';
  const wrong = format === 'csv' ? undefined : given.map(([flag]) => flag).find((flag) => !isJson || flag !== COLUMNS);
  if (wrong !== undefined) {
    const formats = wrong === COLUMNS ? 'CSV, JSON and NDJSON' : 'CSV';
    throw new CliError('usage', `--${wrong} applies to ${formats} only, and the format is ${format}.`, {
      hint: 'Leave it out.',
    });
  }
  return Object.fromEntries(given);
}
