import type { CsvOptions } from '@svc/frames';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { sqlText } from '../wire/sql-names.ts';

/** The longest line of a CSV file. DuckDB's buffers must be as long, and are by default. */
export const MAX_LINE_BYTES = 32_000_000;

/** How a CSV file is read. */
export interface CsvDialect extends Omit<CsvOptions, 'encoding'> {
  readonly delimiter: string;
  readonly header: boolean;
  /** The number of empty lines before the first line. */
  readonly skip: number;
}

/** Returns the arguments with which DuckDB's `read_csv` reads the texts of all columns, under these names. */
export function textArguments(dialect: CsvDialect, names: readonly string[]): string {
  const parts = [
    ...dialectArguments(dialect),
    'all_varchar = true',
    `header = ${dialect.header}`,
    namesArgument(names),
  ];
  return `, ${parts.join(', ')}`;
}

/**
 * The dialect. DuckDB detects only line ends: left to itself it would also skip lines, or treat them as comments, rather
 * than report a broken one.
 */
function dialectArguments({ delimiter, skip, nulls }: CsvDialect): string[] {
  return [
    `quote = '"'`,
    `escape = '"'`,
    // A quoted empty value is an empty string, an unquoted one is null.
    'allow_quoted_nulls = false',
    `skip = ${skip}`,
    `max_line_size = ${MAX_LINE_BYTES}`,
    `buffer_size = ${MAX_LINE_BYTES}`,
    `comment = ''`,
    'strict_mode = true',
    'null_padding = false',
    'ignore_errors = false',
    `delim = ${sqlText(checkedDelimiter(delimiter))}`,
    ...(nulls === undefined ? [] : [`nullstr = [${checkedNulls(nulls, delimiter).map(sqlText).join(', ')}]`]),
  ];
}

function namesArgument(names: readonly string[]): string {
  return `names = [${names.map(sqlText).join(', ')}]`;
}

function checkedDelimiter(delimiter: string): string {
  const bytes = Buffer.byteLength(delimiter);
  if (bytes >= 1 && bytes <= 4 && !/[\0\r\n"]/.test(delimiter)) return delimiter;
  throw new ServiceError('invalid_argument', `The delimiter ${quoted(delimiter)} is not valid for a CSV file.`, {
    hint: 'Use one character, for example , or ; or a tab.',
  });
}

const MAX_NULLS = 100;
const MAX_NULL_BYTES = 1000;

function checkedNulls(nulls: readonly string[], delimiter: string): readonly string[] {
  if (nulls.length > MAX_NULLS) {
    throw new ServiceError('invalid_argument', `${nulls.length} texts for null are too many.`, {
      hint: `Send at most ${MAX_NULLS}.`,
    });
  }
  for (const text of nulls) {
    const isLong = Buffer.byteLength(text) > MAX_NULL_BYTES;
    if (!isLong && !/[\0\r\n"]/.test(text) && !text.includes(delimiter)) continue;
    throw new ServiceError('invalid_argument', `The text ${quoted(text)} cannot mean null in a CSV file.`, {
      hint: `Use a text of at most ${MAX_NULL_BYTES} bytes without the delimiter, quotes and line breaks. A value in quotes is never null.`,
    });
  }
  return nulls;
}

/** Returns a name for a column of a CSV file. */
export function checkedName(name: string): string {
  if (name !== '' && !name.includes('\0')) return name;
  throw new ServiceError('invalid_argument', `The column name ${quoted(name)} is not valid for a CSV file.`, {
    hint: 'Give every column a name.',
  });
}
