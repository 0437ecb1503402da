import { ServiceError } from '@svc/errors';
import { CARRIAGE_RETURN, createCsvScanner, csvChunks, LINE_FEED, withoutByteOrderMark } from './csv-scanner.ts';
import { MAX_LINE_BYTES } from './csv-arguments.ts';
import { BROKEN_LINE_HINT, LONG_LINE_HINT, UNKNOWN_CSV_DIALECT, wrongValueCount } from './file-errors.ts';

/** The most columns of a CSV file: with more, DuckDB's memory is not enough for a single row. */
const MAX_COLUMNS = 5000;
/** The delimiters that are detected. */
const DELIMITERS = [',', ';', '\t', '|'] as const;
/** A value is cut here: it is longer than any name of a column, and is a text. */
const MAX_VALUE_BYTES = 8192;
/** About the number of lines that DuckDB samples to detect the dialect of a file. */
const SAMPLED_LINES = 30_000;

/** The head of a CSV file. Its first line is the first that is not empty. */
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
 * that is too long or has too many columns: DuckDB would take many seconds, and all of its memory, to find that out.
 */
export async function readCsvHead(path: string, given?: string): Promise<CsvHead> {
  const delimiter = given ?? (await detectDelimiter(path));
  const { isCut, skip, columns, values, isQuoted } = await splitFirstLine(path, delimiter);
  if (columns > MAX_COLUMNS) {
    throw new ServiceError('invalid_data', `The CSV file has more than ${MAX_COLUMNS} columns.`, {
      hint: 'Send fewer columns, or send wide rows as Arrow or JSON. Or set the delimiter with ?delimiter=.',
    });
  }
  if (!isCut) return { delimiter, skip, columns, firstLine: isQuoted ? undefined : values };
  const fault = isQuoted ? 'has an unterminated quote' : 'is too long';
  throw new ServiceError(
    'invalid_data',
    `Line ${skip + 1} of the CSV file ${fault}: it is longer than ${MAX_LINE_BYTES} bytes.`,
    { hint: LONG_LINE_HINT },
  );
}

/**
 * Reads the first line that is not empty, a short chunk at a time: a long one must not keep the event loop. `take` gets
 * its bytes, and what follows, until it returns true.
 */
async function readFirstLine(
  path: string,
  take: (chunk: Buffer) => boolean,
): Promise<{ readonly skip: number; readonly isCut: boolean }> {
  let [skip, last, left] = [0, 0, MAX_LINE_BYTES];
  let isFirst = true;
  for await (const chunk of csvChunks(path)) {
    let text = isFirst ? withoutByteOrderMark(chunk) : chunk;
    isFirst = false;
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
 * Returns the usual delimiter that occurs most often in the first line, outside quotes; a comma if there is none. DuckDB
 * looks for one that fits all lines, and so takes a file with one broken line for a file of one column.
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
  /** Whether the line is longer than allowed. */
  readonly isCut: boolean;
  /** At most one more than allowed. */
  readonly columns: number;
  /** Without quotes. */
  readonly values: readonly string[];
  /** Whether its text ends inside quotes. */
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
  for await (const chunk of csvChunks(path, signal)) {
    const text = isFirst ? withoutByteOrderMark(chunk) : chunk;
    for (let from = 0; from < text.length;) {
      const at = scanner.skipText(text, from);
      if (at > from) isEmpty = false;
      from = at + 1;
      const byte = text[at];
      if (byte === undefined) break;
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
