import type { CsvOptions } from '@svc/frames';
import { quoted, ServiceError } from '@svc/errors';
import { declaredField } from '@svc/frames/internal';
import { sqlText } from '../wire/sql-names.ts';
import { foreignColumn } from '../types/duckdb-types.ts';

/** How a CSV file is read. */
export interface CsvDialect extends Omit<CsvOptions, 'encoding' | 'skip'> {
  readonly delimiter: string;
  /** Names of columns that are text, in a file with a header. */
  readonly texts?: readonly string[];
}

/**
 * Returns the arguments of DuckDB's `read_csv`. DuckDB detects only names, types and the header: left to itself it would
 * also skip lines, or treat them as comments, rather than report a broken one.
 */
export function csvArguments({ header, columns, delimiter, nulls, texts = [] }: CsvDialect): string {
  // A quoted empty value is an empty string, an unquoted one is null.
  const parts = [`quote = '"'`, `escape = '"'`, 'allow_quoted_nulls = false'];
  parts.push('skip = 0', `comment = ''`, 'strict_mode = true', 'null_padding = false', 'ignore_errors = false');
  parts.push(`delim = ${sqlText(checkedDelimiter(delimiter))}`);
  if (nulls !== undefined) parts.push(`nullstr = [${checkedNulls(nulls, delimiter).map(sqlText).join(', ')}]`);
  if (header !== undefined) parts.push(`header = ${header}`);
  if (columns !== undefined) {
    parts.push(`names = [${columns.map(({ name }) => sqlText(checkedName(name))).join(', ')}]`);
    const typed = columns.flatMap(({ name, type }) => (type === undefined ? [] : [{ name, type }]));
    const types = typed.map(
      ({ name, type }) => `${sqlText(name)}: ${sqlText(foreignColumn(declaredField(name, type)).sqlType)}`,
    );
    if (types.length > 0) parts.push(`types = {${types.join(', ')}}`);
  }
  if (texts.length > 0) parts.push(`types = {${texts.map((name) => `${sqlText(name)}: 'VARCHAR'`).join(', ')}}`);
  return `, ${parts.join(', ')}`;
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

function checkedName(name: string): string {
  if (name !== '' && !name.includes('\0')) return name;
  throw new ServiceError('invalid_argument', `The column name ${quoted(name)} is not valid for a CSV file.`, {
    hint: 'Give every column a name.',
  });
}
