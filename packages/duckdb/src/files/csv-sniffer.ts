import { createReadStream } from 'node:fs';
import { ServiceError } from '@svc/errors';
import { readStart } from '../disk/read-start.ts';
import { CARRIAGE_RETURN, createCsvScanner, LINE_FEED, withoutByteOrderMark } from './csv-scanner.ts';
import { MAX_LINE_BYTES } from './csv-arguments.ts';
import { BROKEN_LINE_HINT, LONG_LINE_HINT, UNKNOWN_CSV_DIALECT, wrongValueCount } from './file-errors.ts';

/** The most columns of a CSV file: with more, DuckDB's memory is not enough for a single row. */
const MAX_COLUMNS = 5000;
/** The delimiters that are detected. */
const DELIMITERS = [',', ';', '\t', '|'] as const;
/** Most first lines are shorter. */
const HEAD_BYTES = 2_000_000;
/** About the number of lines that DuckDB samples to detect the dialect of a file. */
const SAMPLED_LINES = 30_000;

/** The head of a CSV file. Its first line is the first that is not empty. */
export interface CsvHead {
  readonly delimiter: string;
  /** The number of empty lines before the first line. */
  readonly skip: number;
  /** The number of columns in the first line. */
  readonly columns: number;
  /** The values of the first line; undefined if it ends inside quotes. */
  readonly firstLine: readonly string[] | undefined;
}

/**
 * Reads the first line of a CSV file, and detects the delimiter if none is given. Refuses a file without one, and one
 * that is too long or has too many columns: DuckDB would take many seconds, and all of its memory, to find that out.
 */
export async function readCsvHead(path: string, given?: string): Promise<CsvHead> {
  const short = await readFirstLine(path, HEAD_BYTES, given);
  const isKnown = !short.isCut || short.columns > MAX_COLUMNS;
  const { isCut, columns, ...line } = isKnown ? short : await readFirstLine(path, MAX_LINE_BYTES, given);
  if (columns > MAX_COLUMNS) {
    throw new ServiceError(
      'invalid_data',
      `The CSV file has ${columns}${isCut ? ' or more' : ''} columns; at most ${MAX_COLUMNS} are allowed.`,
      { hint: 'Send fewer columns, or send wide rows as Arrow or JSON. Or set the delimiter with ?delimiter=.' },
    );
  }
  const { delimiter, skip, isQuoted, values } = line;
  if (!isCut) return { delimiter, skip, columns, firstLine: isQuoted ? undefined : values };
  const fault = isQuoted ? 'has an unterminated quote' : 'is too long';
  throw new ServiceError(
    'invalid_data',
    `Line ${skip + 1} of the CSV file ${fault}: it is longer than ${MAX_LINE_BYTES} bytes.`,
    { hint: LONG_LINE_HINT },
  );
}

/** Reads the first line of a file, at most `maxBytes` of it. */
async function readFirstLine(
  path: string,
  maxBytes: number,
  given: string | undefined,
): Promise<FirstLine & { readonly delimiter: string; readonly skip: number; readonly isCut: boolean }> {
  const bytes = await readStart(path, maxBytes + 1);
  const text = withoutByteOrderMark(bytes);
  const { skip, start } = emptyLines(text);
  const line = text.subarray(start);
  if (line.length === 0 && bytes.length <= maxBytes) {
    throw new ServiceError('invalid_data', `The CSV file ${skip === 0 ? 'is empty' : 'has only empty lines'}.`, {
      hint: 'Send at least a header line.',
    });
  }
  const delimiter = given ?? detectDelimiter(line);
  const first = splitFirstLine(line, delimiter);
  return { ...first, delimiter, skip, isCut: !first.isEnded && bytes.length > maxBytes };
}

/** Counts the empty lines at the start of a text, and finds where the first other line starts. */
function emptyLines(text: Uint8Array): { readonly skip: number; readonly start: number } {
  let [skip, start] = [0, 0];
  for (; text[start] === LINE_FEED || text[start] === CARRIAGE_RETURN; start++) {
    if (text[start] === CARRIAGE_RETURN || text[start - 1] !== CARRIAGE_RETURN) skip += 1;
  }
  return { skip, start };
}

/**
 * Returns the usual delimiter that occurs most often in the first line, outside quotes; a comma if there is none. DuckDB
 * looks for one that fits all lines, and so takes a file with one broken line for a file of one column.
 */
export function detectDelimiter(text: Uint8Array): string {
  const counts = new Map<string, number>();
  const scanner = createCsvScanner(DELIMITERS);
  for (const byte of text) {
    const token = scanner.next(byte);
    if (token === 'line_end') break;
    if (token !== 'delimiter') continue;
    const delimiter = String.fromCharCode(byte);
    counts.set(delimiter, (counts.get(delimiter) ?? 0) + 1);
  }
  return DELIMITERS.reduce((best, one) => ((counts.get(one) ?? 0) > (counts.get(best) ?? 0) ? one : best));
}

interface FirstLine {
  readonly columns: number;
  /** Without quotes; at most `MAX_COLUMNS` of them. */
  readonly values: readonly string[];
  /** Whether the text contains the end of the line. */
  readonly isEnded: boolean;
  /** Whether the text ends inside quotes. */
  readonly isQuoted: boolean;
}

function splitFirstLine(text: Uint8Array, delimiter: string): FirstLine {
  const scanner = createCsvScanner([delimiter]);
  const earlierDelimiterBytes = Buffer.byteLength(delimiter) - 1;
  const value = Buffer.alloc(text.length);
  const values: string[] = [];
  let columns = 1;
  let length = 0;
  for (const byte of text) {
    const token = scanner.next(byte);
    if (token === 'text') value[length++] = byte;
    else if (token === 'line_end') {
      return { columns, values: [...values, value.toString('utf8', 0, length)], isEnded: true, isQuoted: false };
    } else if (token === 'delimiter') {
      columns += 1;
      if (columns <= MAX_COLUMNS) values.push(value.toString('utf8', 0, length - earlierDelimiterBytes));
      length = 0;
    }
  }
  const { isQuoted } = scanner;
  return { columns, values: [...values, value.toString('utf8', 0, length)], isEnded: false, isQuoted };
}

/** Returns the error, or one that names the broken line if the dialect of a CSV file could not be detected. */
export async function explainDialect<E>(
  error: E,
  path: string,
  delimiter: string,
  signal?: AbortSignal,
): Promise<E | ServiceError> {
  if (!(error instanceof ServiceError) || error.message !== UNKNOWN_CSV_DIALECT) return error;
  const fault = await findBrokenLine(path, delimiter, signal);
  return fault === undefined
    ? error
    : new ServiceError(fault.code, fault.message, { hint: fault.hint, cause: error.cause });
}

/**
 * Finds the first line of a CSV file that does not match the lines before it, and returns an error about it, or
 * undefined if there is none. DuckDB says only that it cannot detect the dialect of such a file.
 */
async function findBrokenLine(
  path: string,
  delimiter: string,
  signal?: AbortSignal,
): Promise<ServiceError | undefined> {
  const scanner = createCsvScanner([delimiter]);
  let [line, start, values, columns] = [1, 1, 1, 0];
  let isEmpty = true;
  let isFirst = true;
  for await (const chunk of createReadStream(path, { signal }) as AsyncIterable<Uint8Array>) {
    for (const byte of isFirst ? withoutByteOrderMark(chunk) : chunk) {
      const token = scanner.next(byte);
      if (byte === LINE_FEED) line += 1;
      if (token === 'delimiter') values += 1;
      if (token !== 'line_end') isEmpty = false;
      if (token !== 'line_end' || byte !== LINE_FEED) continue;
      if (columns === 0 && !isEmpty) columns = values;
      // An empty line is a null in a file of one column, and is ignored in others.
      if (values !== columns && !isEmpty) return wrongCount(start, values, columns);
      [start, values, isEmpty] = [line, 1, true];
      if (line > SAMPLED_LINES) return undefined;
    }
    isFirst = false;
  }
  if (scanner.isQuoted) return brokenLine(start, 'has an unterminated quote');
  return isEmpty || values === columns || columns === 0 ? undefined : wrongCount(start, values, columns);
}

function wrongCount(line: number, values: number, columns: number): ServiceError {
  return brokenLine(line, wrongValueCount(values, columns));
}

function brokenLine(line: number, fault: string): ServiceError {
  return new ServiceError('invalid_data', `Line ${line} of the CSV file ${fault}.`, {
    hint: BROKEN_LINE_HINT,
  });
}
