import type { CsvEncoding, UploadFormat } from '@svc/frames';
import type { Arguments, CommandOption } from './command.ts';
import { INPUT_FORMATS, type InputName, isInputFormat, readInputName } from './formats.ts';
import { DASH } from './source.ts';
import { CliError } from '../errors.ts';
import { nearestHint, shellWord } from '../text.ts';

/** An input file, whose format is known. */
export interface InputFile extends InputName {
  readonly format: UploadFormat;
}

const SPREADSHEET = /\.(?:xls[xmb]?|ods|numbers)$/i;

/** Returns what an input file contains: from the flag, else from the file name. */
export function givenFormat(args: Arguments, flag: string, file: string): InputFile {
  const given = args.text(flag);
  const named = readInputName(file);
  const format = given ?? named.format;
  if (format !== undefined && isInputFormat(format)) return { ...named, format };
  if (given === undefined && SPREADSHEET.test(file)) {
    throw new CliError('usage', `${JSON.stringify(file)} is a spreadsheet, which svc does not read.`, {
      hint: 'Save the sheet as CSV in UTF-8, and give that file: File > Save As in Excel and LibreOffice.',
    });
  }
  const hint = `Use --${flag} ${INPUT_FORMATS.join(` or --${flag} `)}.`;
  throw given === undefined
    ? new CliError('usage', `Cannot tell the format from the name ${JSON.stringify(file)}.`, { hint })
    : new CliError('usage', `--${flag} ${JSON.stringify(given)} is not an input format.`, {
        hint: nearestHint(given, INPUT_FORMATS, (name) => `--${flag} ${name}`, hint),
      });
}

const MAX_HANDLE_LENGTH = 128;

/**
 * Makes a handle from the name of a file: without its folder, extensions and accents, and with `_` for every run of
 * other characters.
 */
export function handleOfFile(file: string): string {
  const handle = readInputName(file)
    .stem.normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .replaceAll(/[^\w.-]+/g, '_')
    .replaceAll(/^[^A-Za-z\d]+|_+$/g, '')
    .slice(0, MAX_HANDLE_LENGTH);
  if (handle !== '' && file !== DASH) return handle;
  const what =
    file === DASH ? 'Standard input has no name' : `No handle can be made from the name ${JSON.stringify(file)}`;
  throw new CliError('usage', `${what}.`, { hint: `Give a handle before it: svc put trades ${shellWord(file)}.` });
}

/** The names of `CSV_ENCODINGS`, as literals: an import of the table makes svc start more slowly. */
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

/** This flag also applies to JSON and NDJSON. */
const COLUMNS = 'columns';

/** The flags of every command with a CSV file. Options are detected unless given. */
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

/** The flag of every command with a new frame. */
export const TTL_OPTION: CommandOption = { value: '<seconds>', summary: 'Let the frame expire. Default: never.' };

/** Returns its value. */
export function ttlOf(args: Arguments): string | undefined {
  const ttl = args.text('ttl');
  if (ttl === undefined || /^[1-9]\d{0,15}$/.test(ttl)) return ttl;
  throw new CliError('usage', `--ttl ${JSON.stringify(ttl)} is not a positive whole number of seconds.`, {
    hint: 'Write --ttl 3600 for an hour.',
  });
}
