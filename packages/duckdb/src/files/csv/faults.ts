// What is wrong with a CSV file, with its line. DuckDB counts lines otherwise, and often gives no reason at all.
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@svc/errors';
import { counted, quoted } from '@svc/errors/internal';
import { columnInfo } from '@svc/frames';
import { unlinkIfThere } from '@svc/objects/internal';
import { ChildError } from '../../child-link/child-errors.ts';
import type { CsvSource, FileSource } from '../frame-files.ts';
import { csvTextsSql, LONG_LINE_HINT, MAX_LINE_BYTES, readCsvHead } from './dialect.ts';
import { csvColumnName, type CsvTable, inexactColumn, type QueryTexts } from './table.ts';
import { CARRIAGE_RETURN, createCsvScanner, csvChunks, LINE_FEED, scanCsv } from './text.ts';

const DIALECT_HINT =
  'Check that every line has as many values as the first, and set the dialect with ?header=, ?delimiter= and ?columns=.';
const ENCODING_HINT =
  'Send the encoding of the file as ?encoding=, for example utf-16, latin-1 or windows-1252, or save the file as UTF-8.';
const BROKEN_LINE_HINT =
  'Correct the line. If the file begins with a title or comments, leave those lines out with ?skip=. If its values have another separator, send it as ?delimiter=.';

/** The message for a CSV file whose lines have nothing in common. */
export const UNKNOWN_CSV_DIALECT = 'Could not detect the CSV dialect (delimiter, quoting, header).';

const UNDETECTED = /Error when sniffing file|not possible to automatically detect|Parser state machine/i;
const TOO_LONG = `has a line of more than ${MAX_LINE_BYTES} bytes`;

/** DuckDB's messages, with ours and the hint. */
const CSV_FAULTS: readonly (readonly [pattern: RegExp, fault: string, hint?: string])[] = [
  [UNDETECTED, 'fits no CSV dialect (delimiter, quoting, header) that could be detected'],
  [/unterminated quote|quote .*not.*closed|Value with unterminated/i, 'has an unterminated quote'],
  [/Maximum line size/i, TOO_LONG, LONG_LINE_HINT],
  [/not utf-8|Invalid unicode|utf-8 encoded/i, 'is not UTF-8', ENCODING_HINT],
];

/** Converts DuckDB's error about a CSV file: its message of many lines has the line, and what was expected there. */
export function csvError(cause: ChildError): ServiceError {
  const { message } = cause;
  if (columnOfInexactValue(cause) !== undefined) {
    return new ServiceError('invalid_data', 'The CSV file has changed since its types were detected.', {
      hint: 'Send the request again.',
      cause,
    });
  }
  const known = CSV_FAULTS.find(([pattern]) => pattern.test(message));
  // DuckDB counts the lines before a long one wrong.
  const line = known?.[1] === TOO_LONG ? undefined : /CSV Error on Line: (\d+)/.exec(message)?.[1];
  const at = line === undefined ? 'The CSV file' : `Line ${line} of the CSV file`;
  const counts = /Expected Number of Columns: (\d+) Found: (\d+)/.exec(message);
  if (counts !== null) {
    const [, expected, found] = counts;
    const fault = wrongValueCount(Number(found), Number(expected));
    return new ServiceError('invalid_data', `${at} ${fault}.`, { hint: BROKEN_LINE_HINT, cause });
  }
  const isUndetected = line === undefined && UNDETECTED.test(message);
  const text = isUndetected ? UNKNOWN_CSV_DIALECT : `${at} ${known?.[1] ?? 'cannot be read'}.`;
  return new ServiceError('invalid_data', text, { hint: known?.[2] ?? DIALECT_HINT, cause });
}

function wrongValueCount(values: number, columns: number): string {
  return `has ${counted(values, 'value')}, but there ${columns === 1 ? 'is' : 'are'} ${counted(columns, 'column')}`;
}

/** Returns the index of the column of a misfit value; undefined if an error has another cause. */
export function columnOfInexactValue(error: unknown): number | undefined {
  const cause = error instanceof ServiceError ? error.cause : error;
  return cause instanceof ChildError ? inexactColumn(cause.message) : undefined;
}

/** True if DuckDB could not detect the dialect. */
function hasUnknownDialect(error: unknown): boolean {
  return error instanceof ServiceError && error.cause instanceof ChildError && UNDETECTED.test(error.cause.message);
}

/** Columns per statement. */
const COLUMNS_PER_STATEMENT = 250;

interface InexactValue {
  /** From 1, without the header. */
  readonly row: number;
  readonly column: number;
  readonly text: string;
}

/** Returns an error about the first value outside the declared type of its column. */
export async function inexactValue(query: QueryTexts, source: CsvSource, table: CsvTable): Promise<ServiceError> {
  const value = await findInexactValue(query, source, table);
  const field = value && table.columns[value.column]?.field;
  if (value === undefined || field === undefined)
    throw new Error('All values of a CSV file fit their columns, although a check failed.');
  const line = await lineOfRow(source.path, table, value.row);
  const { name, type } = columnInfo(field);
  const format =
    type === 'DATE' ? source.dateFormat : type.startsWith('TIMESTAMP') ? source.timestampFormat : undefined;
  const wanted = format === undefined ? type : `${type} in the format ${quoted(format)}`;
  const isAppended = source.addedTo !== undefined && source.columns === undefined;
  return new ServiceError(
    'invalid_data',
    `Line ${line} of the CSV file, column ${quoted(name)}: ${quoted(value.text)} is not of the type ${wanted}.`,
    {
      hint: isAppended
        ? 'Correct the value: appended rows are read in the types of the frame.'
        : 'Correct the value, or declare another type with ?columns=.',
    },
  );
}

async function findInexactValue(
  query: QueryTexts,
  source: CsvSource,
  table: CsvTable,
): Promise<InexactValue | undefined> {
  const texts = csvTextsSql(source, table);
  const declared = table.columns.flatMap(({ type, otherTypes }, index) =>
    otherTypes === undefined ? [{ index, type }] : [],
  );
  let found: InexactValue | undefined;
  for (let at = 0; at < declared.length; at += COLUMNS_PER_STATEMENT) {
    const some = declared.slice(at, at + COLUMNS_PER_STATEMENT);
    const tests = some.map(({ index, type }) => {
      const text = csvColumnName(index);
      const isExact = type.isExact(text, type.valueOf(text), { allowNegativeZero: true });
      return `WHEN ${text} IS NOT NULL AND NOT coalesce(${isExact}, false) THEN ${index}`;
    });
    const names = some.map(({ index }) => `WHEN ${index} THEN ${csvColumnName(index)}`);
    const [first] = await query(`SELECT n::VARCHAR, i::VARCHAR, CASE i ${names.join(' ')} END
      FROM (SELECT *, CASE ${tests.join(' ')} END AS i FROM (SELECT *, row_number() OVER () AS n FROM ${texts}))
      WHERE i IS NOT NULL ORDER BY n LIMIT 1`);
    const [row, column, text] = first ?? [];
    if (first === undefined || (found !== undefined && found.row <= Number(row))) continue;
    found = { row: Number(row), column: Number(column), text: text ?? '' };
  }
  return found;
}

/** Finds the first line of a row. Empty lines hold no row, except in a file of one column after the first line. */
async function lineOfRow(path: string, { delimiter, header, skip, columns }: CsvTable, row: number): Promise<number> {
  let rowsBefore = (header ? -1 : 0) - (columns.length === 1 ? skip : 0);
  let [line, start, last] = [1, 1, 0];
  let isEmpty = true;
  await scanCsv(path, delimiter, (token, byte, hasText) => {
    if (hasText) [isEmpty, last] = [false, 0];
    const isSecond = byte === LINE_FEED && last === CARRIAGE_RETURN;
    if ((byte === LINE_FEED || byte === CARRIAGE_RETURN) && !isSecond) line += 1;
    last = byte;
    if (token === 'line_end' && !isSecond) {
      if (!isEmpty || columns.length === 1) rowsBefore += 1;
      if (rowsBefore >= row) return true;
      isEmpty = true;
    }
    if (isSecond || token === 'line_end') start = line;
    else isEmpty = false;
    return false;
  });
  return start;
}

/** Returns the error, or one about the broken line if DuckDB could not detect the dialect of a CSV file. */
export async function explainDialect<E>(
  error: E,
  path: string,
  delimiter: string,
  signal?: AbortSignal,
): Promise<E | ServiceError> {
  if (!(error instanceof ServiceError) || error.message !== UNKNOWN_CSV_DIALECT) return error;
  const fault = await brokenLine(path, delimiter, signal);
  if (fault === undefined) return error;
  return new ServiceError('invalid_data', fault, { hint: BROKEN_LINE_HINT, cause: error.cause });
}

/** DuckDB samples about this many lines to detect the dialect of a file. */
const SAMPLED_LINES = 30_000;

/** Says what is wrong with the first line unlike those before it; undefined if there is none. */
async function brokenLine(path: string, delimiter: string, signal?: AbortSignal): Promise<string | undefined> {
  let [line, start, values, columns] = [1, 1, 1, 0];
  let isEmpty = true;
  let isOver = false;
  const { isQuoted, hasText } = await scanCsv(
    path,
    delimiter,
    (token, byte, isAfterText) => {
      if (isAfterText) isEmpty = false;
      if (byte === LINE_FEED) line += 1;
      if (token === 'delimiter') values += 1;
      if (token !== 'line_end') isEmpty = false;
      if (token !== 'line_end' || byte !== LINE_FEED) return false;
      if (columns === 0 && !isEmpty) columns = values;
      // An empty line is a null in a file of one column, and is ignored in others.
      if (values !== columns && !isEmpty) return true;
      [start, values, isEmpty] = [line, 1, true];
      isOver = line > SAMPLED_LINES;
      return isOver;
    },
    signal,
  );
  if (isOver) return undefined;
  if (isQuoted) return `Line ${start} of the CSV file has an unterminated quote.`;
  const isWhole = (isEmpty && !hasText) || values === columns || columns === 0;
  return isWhole ? undefined : `Line ${start} of the CSV file ${wrongValueCount(values, columns)}.`;
}

/**
 * Runs `work` with a source of uniform line ends. DuckDB refuses a CSV file with several kinds: then `work` runs again
 * with a copy of it, next to the new file, with line feeds.
 */
export async function withUniformLines<T>(
  from: FileSource,
  path: string,
  work: (source: FileSource) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  try {
    return await work(from);
  } catch (error) {
    if (from.kind !== 'csv' || !hasUnknownDialect(error) || !(await mayMixLineEnds(from.path, signal))) throw error;
  }
  const copy = `${path}.lines`;
  const { delimiter } = await readCsvHead(from.path, from.delimiter);
  const file = await open(copy, 'wx', 0o600);
  try {
    await pipeline(withLineFeeds(csvChunks(from.path, signal), delimiter), file.createWriteStream(), { signal });
    return await work({ ...from, path: copy });
  } finally {
    await unlinkIfThere(copy).catch(() => {});
  }
}

/** True if a file has several kinds of line ends, in quotes or not. */
async function mayMixLineEnds(path: string, signal?: AbortSignal): Promise<boolean> {
  const kinds = new Set<number>();
  let last = 0;
  for await (const chunk of csvChunks(path, signal)) {
    // A line end across two chunks counts as two kinds: this only costs a copy.
    if (last === CARRIAGE_RETURN && chunk[0] !== LINE_FEED) kinds.add(CARRIAGE_RETURN);
    last = chunk.at(-1) ?? last;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) {
      kinds.add(chunk[at - 1] === CARRIAGE_RETURN ? LINE_FEED + CARRIAGE_RETURN : LINE_FEED);
    }
    for (let at = chunk.indexOf(CARRIAGE_RETURN); at >= 0; at = chunk.indexOf(CARRIAGE_RETURN, at + 1)) {
      if (at + 1 < chunk.length && chunk[at + 1] !== LINE_FEED) kinds.add(CARRIAGE_RETURN);
    }
    if (kinds.size > 1) return true;
  }
  return false;
}

/** Replaces the ends of lines by line feeds. Line breaks in quotes are part of a value, and stay. */
async function* withLineFeeds(
  text: AsyncIterable<Buffer>,
  delimiter: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const scanner = createCsvScanner([delimiter]);
  let last = 0;
  for await (const bytes of text) {
    const lines = Buffer.alloc(bytes.length);
    let length = 0;
    for (let from = 0; from < bytes.length;) {
      const at = scanner.skipText(bytes, from);
      length += bytes.copy(lines, length, from, at);
      if (at > from) last = 0;
      from = at + 1;
      const byte = bytes[at];
      if (byte === undefined) break;
      const isEnd = scanner.next(byte) === 'line_end';
      const isSecond = isEnd && byte === LINE_FEED && last === CARRIAGE_RETURN;
      if (!isSecond) lines[length++] = isEnd ? LINE_FEED : byte;
      last = isEnd ? byte : 0;
    }
    yield lines.subarray(0, length);
  }
}

/** Returns the error about a CSV file in place, or a better one with the line at fault. */
export async function explainFile(error: Error, { path, delimiter: given }: CsvSource): Promise<Error> {
  if (!hasUnknownDialect(error)) return error;
  const { delimiter } = await readCsvHead(path, given);
  return (await mixedLineEnds(path, delimiter)) ?? explainDialect(error, path, delimiter);
}

/** Returns an error about the first line with another end than line 1; undefined if there is none. */
async function mixedLineEnds(path: string, delimiter: string): Promise<ServiceError | undefined> {
  if (!(await mayMixLineEnds(path))) return undefined;
  let [line, first, end] = [1, '', ''];
  await scanCsv(path, delimiter, (token, byte, hasText) => {
    const isEnd = token === 'line_end';
    const isSecond = isEnd && byte === LINE_FEED && end === 'CR' && !hasText;
    if (end !== '' && !isSecond) {
      first ||= end;
      if (end !== first) return true;
      line += 1;
    }
    if (!isEnd && byte === LINE_FEED) line += 1;
    end = isEnd ? (isSecond ? 'CR LF' : byte === LINE_FEED ? 'LF' : 'CR') : '';
    return false;
  });
  if (end === '' || first === '' || end === first) return undefined;
  return new ServiceError('invalid_data', `Line ${line} of the CSV file ends with ${end}, but line 1 with ${first}.`, {
    hint: 'Save the file with one kind of line end, or put it as an upload, which may have several.',
  });
}
