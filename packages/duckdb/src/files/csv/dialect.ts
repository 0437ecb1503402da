import { open } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { CARRIAGE_RETURN, createCsvScanner, csvChunks, LINE_FEED } from './text.ts';
import { globFree, sqlText } from '../../wire/sql-names.ts';
import type { CsvSource } from '../frame-files.ts';
import { csvColumnName, type CsvTable } from './table.ts';

/** The longest line. DuckDB's buffers must be as long, and are by default. */
export const MAX_LINE_BYTES = 32_000_000;
/** The most columns: with more, DuckDB's memory is not enough for a single row. */
const MAX_COLUMNS = 5000;
/** The detected delimiters. */
const DELIMITERS = [',', ';', '\t', '|'] as const;
/** A value is cut here: it is longer than any name of a column, and is a text. */
const MAX_VALUE_BYTES = 8192;

/** What to do about a long line. */
export const LONG_LINE_HINT =
  'Check that lines end with a line feed, and that every quote is closed; or send shorter values.';

/** The head of a CSV file. Empty lines before the first line do not count. */
export interface CsvHead {
  readonly delimiter: string;
  /** The number of empty lines before the first line. */
  readonly skip: number;
  /** The number of columns in the first line. */
  readonly columns: number;
  /** The values of the first line, long ones cut; undefined if it ends inside quotes. */
  readonly firstLine: readonly string[] | undefined;
}

/**
 * Reads the first line of a CSV file, and detects the delimiter if none is given. Refuses a file without one, and one
 * with a long one or with too many columns: DuckDB would take many seconds, and all of its memory, to find out. Also refuses
 * a last line that DuckDB would drop.
 */
export async function readCsvHead(path: string, given?: string): Promise<CsvHead> {
  const delimiter = given ?? (await detectDelimiter(path));
  const { isCut, skip, columns, values, isQuoted } = await splitFirstLine(path, delimiter);
  if (columns > MAX_COLUMNS) {
    throw new ServiceError('invalid_data', `The CSV file has more than ${MAX_COLUMNS} columns.`, {
      hint: 'Send fewer columns, or send wide rows as Arrow or JSON. Or set the delimiter with ?delimiter=.',
    });
  }
  if (!isCut) {
    await checkLastLine(path);
    return { delimiter, skip, columns, firstLine: isQuoted ? undefined : values };
  }
  const fault = isQuoted ? 'has an unterminated quote' : 'is too long';
  throw new ServiceError(
    'invalid_data',
    `Line ${skip + 1} of the CSV file ${fault}: it is longer than ${MAX_LINE_BYTES} bytes.`,
    { hint: LONG_LINE_HINT },
  );
}

const TAIL_CHUNK_BYTES = 256 * 1024;

/**
 * Refuses a last line that is too long and has no line end: DuckDB drops it without an error. It reports all other long
 * lines.
 */
async function checkLastLine(path: string): Promise<void> {
  const file = await open(path);
  try {
    let { size: end } = await file.stat();
    const least = Math.max(end - MAX_LINE_BYTES, 0);
    while (end > least) {
      const start = Math.max(end - TAIL_CHUNK_BYTES, least);
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(end - start), { position: start });
      const chunk = buffer.subarray(0, bytesRead);
      if (chunk.includes(LINE_FEED) || chunk.includes(CARRIAGE_RETURN)) return;
      end = start;
    }
    if (least === 0) return;
  } finally {
    await file.close();
  }
  const message = `The last line of the CSV file is too long: it is longer than ${MAX_LINE_BYTES} bytes.`;
  throw new ServiceError('invalid_data', message, { hint: LONG_LINE_HINT });
}

/**
 * Reads the first nonempty line, a short chunk at a time: a long one must not keep the event loop busy. `take` gets
 * its bytes, and what follows, until it returns true.
 */
async function readFirstLine(
  path: string,
  take: (chunk: Buffer) => boolean,
): Promise<{ readonly skip: number; readonly isCut: boolean }> {
  let [skip, last, left] = [0, 0, MAX_LINE_BYTES];
  for await (const chunk of csvChunks(path)) {
    let text = chunk;
    if (left === MAX_LINE_BYTES) {
      let start = 0;
      for (; text[start] === LINE_FEED || text[start] === CARRIAGE_RETURN; start++) {
        if (text[start] === CARRIAGE_RETURN || last !== CARRIAGE_RETURN) skip += 1;
        last = text[start] ?? 0;
      }
      text = text.subarray(start);
    }
    if (text.length > 0 && take(text.subarray(0, left))) return { skip, isCut: false };
    if (text.length > left) return { skip, isCut: true };
    left -= text.length;
  }
  if (left < MAX_LINE_BYTES) return { skip, isCut: false };
  throw new ServiceError('invalid_data', `The CSV file ${skip === 0 ? 'is empty' : 'has only empty lines'}.`, {
    hint: 'Send at least a header line.',
  });
}

/**
 * Returns the most frequent of the usual delimiters in the first line, outside quotes; a comma if there is none. DuckDB
 * looks for one in all lines, and so takes a file with one broken line for a file of one column.
 */
async function detectDelimiter(path: string): Promise<string> {
  const counts = new Map<string, number>(DELIMITERS.map((delimiter) => [delimiter, 0]));
  const scanner = createCsvScanner(DELIMITERS);
  await readFirstLine(path, (chunk) => {
    for (let at = scanner.skipText(chunk, 0); at < chunk.length; at = scanner.skipText(chunk, at + 1)) {
      const byte = chunk[at] ?? 0;
      const token = scanner.next(byte);
      if (token === 'line_end') return true;
      if (token !== 'delimiter') continue;
      const delimiter = String.fromCharCode(byte);
      const count = (counts.get(delimiter) ?? 0) + 1;
      counts.set(delimiter, count);
      // The line has too many columns, whichever delimiter it is.
      if (count >= MAX_COLUMNS) return true;
    }
    return false;
  });
  return DELIMITERS.reduce((best, one) => ((counts.get(one) ?? 0) > (counts.get(best) ?? 0) ? one : best));
}

interface FirstLine {
  readonly skip: number;
  /** True if the line is longer than allowed. */
  readonly isCut: boolean;
  /** At most one more than allowed. */
  readonly columns: number;
  /** Without quotes. */
  readonly values: readonly string[];
  /** True if its text ends inside quotes. */
  readonly isQuoted: boolean;
}

async function splitFirstLine(path: string, delimiter: string): Promise<FirstLine> {
  const scanner = createCsvScanner([delimiter]);
  const earlierDelimiterBytes = Buffer.byteLength(delimiter) - 1;
  const value = Buffer.alloc(MAX_VALUE_BYTES);
  const values: string[] = [];
  let length = 0;
  const endValue = (delimiterBytes = 0): void => {
    values.push(value.toString('utf8', 0, length - delimiterBytes));
    length = 0;
  };
  const { skip, isCut } = await readFirstLine(path, (chunk) => {
    for (let from = 0; from < chunk.length;) {
      const at = scanner.skipText(chunk, from);
      const token = at < chunk.length ? scanner.next(chunk[at] ?? 0) : undefined;
      length += chunk.copy(value, length, from, token === 'text' ? at + 1 : at);
      if (token === 'line_end') return true;
      if (token === 'delimiter') endValue(earlierDelimiterBytes);
      if (values.length > MAX_COLUMNS) return true;
      from = at + 1;
    }
    return false;
  });
  endValue();
  return { skip, isCut, columns: values.length, values, isQuoted: scanner.isQuoted };
}

/** A source with what was detected of its dialect. */
type CsvDialect = CsvSource & Pick<CsvTable, 'delimiter' | 'header' | 'skip'>;

/** SQL for the texts of a CSV file in a FROM clause, with columns named by `csvColumnName`. */
export function csvTextsSql(
  source: CsvSource,
  { columns, ...dialect }: Pick<CsvTable, 'delimiter' | 'header' | 'skip'> & { readonly columns: readonly unknown[] },
): string {
  const names = columns.map((_, i) => sqlText(csvColumnName(i)));
  const options = [...dialectArguments({ ...source, ...dialect }), `names = [${names.join(', ')}]`];
  return `read_csv(${globFree(source.path)}, ${options.join(', ')})`;
}

/**
 * Arguments of `read_csv`. DuckDB detects only line ends: left to itself it would also skip lines, or treat them as
 * comments, rather than report a broken one.
 */
function dialectArguments({ delimiter, header, skip, nulls }: CsvDialect): string[] {
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
    'all_varchar = true',
    `header = ${header}`,
  ];
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
