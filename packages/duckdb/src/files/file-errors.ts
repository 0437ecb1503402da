import { ServiceError, toServiceError } from '@svc/errors';
import { counted } from '@svc/errors/internal';
import { MAX_LINE_BYTES } from './csv-arguments.ts';
import { inexactColumn } from './csv-table.ts';
import {
  ChildCrash,
  ChildError,
  isBroken,
  isBrokenByAnother,
  isOutOfMemory,
  OOM_KILL_HINT,
} from '../engine/child-errors.ts';
import { unreadableParquet } from './parquet/parquet-faults.ts';

/** The kind of source or file that an operation failed on. A `stored file` is a Parquet file that we wrote. */
export type Subject = 'Parquet file' | 'stored file' | 'CSV file' | 'table' | 'new file';

/**
 * Converts an error of the child to one for the client. DuckDB's messages contain paths, so they go only to the log. A
 * full disk keeps its system error code, whether DuckDB or Node reported it.
 */
export function fromChild(error: unknown, subject: Subject): Error {
  if (error instanceof ChildCrash) return crashError(error);
  if (!(error instanceof ChildError)) return error instanceof Error ? error : toServiceError(error);
  if (error.failure.code === 'invalid_data') {
    return new ServiceError('invalid_data', error.message, { hint: UNSTORABLE_HINT });
  }
  if (error.failure.code === 'damaged_file') {
    return new ServiceError('invalid_data', `The ${subject} is damaged: its bytes are not those that were written.`, {
      cause: error,
    });
  }
  if (error.failure.code === 'cancelled')
    return new ServiceError('cancelled', 'The request was cancelled.', { cause: error });
  if (isBrokenByAnother(error)) {
    return new ServiceError('unavailable', 'The engine that reads and writes files was replaced during this request.', {
      hint: 'Send the request again.',
      cause: error,
    });
  }
  const isIntact = error.failure.code === 'duckdb' && error.failure.isIntact === true;
  if (isBroken(error)) {
    // DuckDB's reader asserts what a footer and pages of others claim.
    if (subject === 'Parquet file' && !isIntact) return unreadableParquet(error.message, error);
    return new ServiceError('internal', 'The engine that reads and writes files failed on this request.', {
      hint: 'Other requests are not affected. Report it with the request id.',
      cause: error,
    });
  }
  const { message } = error;
  if (isOutOfMemory(error)) {
    return new ServiceError('out_of_memory', `The ${subject} takes more memory than is allowed.`, {
      hint: 'Send fewer columns, or shorter values.',
      cause: error,
    });
  }
  if (NO_SPACE.test(message)) {
    return Object.assign(new Error(`No space left on the disk for the ${subject}.`, { cause: error }), {
      code: 'ENOSPC',
    });
  }
  if (subject === 'new file') return toWriteError(error);
  // Node's messages start with the system error code.
  const kind = /^E[A-Z]+: /.test(message) ? 'IO' : (/^([A-Z][\w ]*?) Error: /.exec(message)?.[1] ?? '');
  if (isIntact || !isOfTheFile({ kind, message })) return error;
  if (subject === 'CSV file') return csvError(error);
  if (subject === 'Parquet file') return unreadableParquet(message, error);
  return new ServiceError('invalid_data', `The ${subject} cannot be read.`, { cause: error });
}

const UNSTORABLE_HINT = 'Change the value, or cast the column to a type that has it, such as string.';

/**
 * DuckDB's and Node's messages if a file cannot grow: a full disk, a quota, or the largest size that the system allows. The
 * last one is only that of a failed write: in other errors DuckDB quotes lines of a CSV file.
 */
const NO_SPACE =
  /no space left on device|ENOSPC|disk quota exceeded|EDQUOT|max_temp_directory_size|^(?:IO Error|EFBIG): .*file too large/i;

/** DuckDB's IO errors of the system. All others are about the bytes of a file; so is a negative offset in it. */
const SYSTEM_ERROR =
  /^(?:IO Error: )?(?:Cannot |Could not (?!read enough)(?!read from file .*Invalid argument)|No files found|Failed to (?!read)|E[A-Z]+: )/;
const NOT_OF_A_FILE: ReadonlySet<string> = new Set(['INTERNAL', 'FATAL', 'INTERRUPT', 'Out of Memory', 'Connection']);

/**
 * Whether DuckDB's error shows that the file itself is malformed. Too many open files, a failing disk or a broken engine
 * do not.
 */
export function isOfTheFile({ kind, message }: { readonly kind: string; readonly message: string }): boolean {
  return !NOT_OF_A_FILE.has(kind) && (kind !== 'IO' || !SYSTEM_ERROR.test(message));
}

/** DuckDB's and Node's messages for disk failures while writing. */
const DISK_FAILURES: readonly (readonly [RegExp, string])[] = [
  [/read-only file system|\bEROFS\b/i, 'EROFS'],
  [/permission denied|\bEACCES\b/i, 'EACCES'],
  [/operation not permitted|\bEPERM\b/i, 'EPERM'],
  [/input\/output error|\bEIO\b/i, 'EIO'],
];

/** Converts a write error. A disk failure keeps its system error code. */
function toWriteError(error: ChildError): Error {
  const [, code] = DISK_FAILURES.find(([pattern]) => pattern.test(error.message)) ?? [];
  if (code === undefined) return toServiceError(error);
  return Object.assign(new Error('The new file cannot be written.', { cause: error }), { code });
}

function crashError(cause: ChildCrash): ServiceError {
  if (cause.isOutOfMemory) {
    return new ServiceError('out_of_memory', 'Reading or writing the data takes more memory than is allowed.', {
      cause,
      ...(cause.isOomKill && { hint: OOM_KILL_HINT }),
    });
  }
  if (cause.hasHung) {
    return new ServiceError('unavailable', 'The engine that reads and writes files did not answer, and was replaced.', {
      hint: 'Send the request again.',
      cause,
    });
  }
  return new ServiceError('internal', 'The engine that reads and writes files exited unexpectedly.', {
    hint: 'Send the request again; if it fails again, report it with the request id.',
    cause,
  });
}

/** Says what is wrong with a line of another length. */
export function wrongValueCount(values: number, columns: number): string {
  return `has ${counted(values, 'value')}, but there ${columns === 1 ? 'is' : 'are'} ${counted(columns, 'column')}`;
}

/** Returns the index of the column of a CSV file that a value did not fit; undefined if an error has another cause. */
export function columnOfInexactValue(error: unknown): number | undefined {
  const cause = error instanceof ServiceError ? error.cause : error;
  return cause instanceof ChildError ? inexactColumn(cause.message) : undefined;
}

/** What to do about a line with another number of values. */
export const BROKEN_LINE_HINT =
  'Correct the line. If the file begins with a title or comments, leave those lines out with ?skip=. If its values have another separator, send it as ?delimiter=.';

/** Extracts the line, and what DuckDB expected there, from its message of many lines. */
function csvError(cause: ChildError): ServiceError {
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
    return new ServiceError('invalid_data', `${at} ${wrongValueCount(Number(found), Number(expected))}.`, {
      hint: BROKEN_LINE_HINT,
      cause,
    });
  }
  const isUndetected = line === undefined && UNDETECTED.test(message);
  const text = isUndetected ? UNKNOWN_CSV_DIALECT : `${at} ${known?.[1] ?? 'cannot be read'}.`;
  return new ServiceError('invalid_data', text, { hint: known?.[2] ?? DIALECT_HINT, cause });
}

/** The message for a CSV file whose lines have nothing in common. */
export const UNKNOWN_CSV_DIALECT = 'Could not detect the CSV dialect (delimiter, quoting, header).';

const UNDETECTED = /Error when sniffing file|not possible to automatically detect|Parser state machine/i;

/** Whether an error shows that DuckDB could not detect the dialect of a CSV file. */
export function hasUnknownDialect(error: unknown): boolean {
  return error instanceof ServiceError && error.cause instanceof ChildError && UNDETECTED.test(error.cause.message);
}

const DIALECT_HINT =
  'Check that every line has as many values as the first, and set the dialect with ?header=, ?delimiter= and ?columns=.';
const ENCODING_HINT =
  'Send the encoding of the file as ?encoding=, for example utf-16, latin-1 or windows-1252, or save the file as UTF-8.';

/** What to do about a line that is too long. */
export const LONG_LINE_HINT =
  'Check that lines end with a line feed, and that every quote is closed; or send shorter values.';

const TOO_LONG = `has a line of more than ${MAX_LINE_BYTES} bytes`;

/** DuckDB's messages, with ours and the hint. */
const CSV_FAULTS: readonly (readonly [pattern: RegExp, fault: string, hint?: string])[] = [
  [UNDETECTED, 'fits no CSV dialect (delimiter, quoting, header) that could be detected'],
  [/unterminated quote|quote .*not.*closed|Value with unterminated/i, 'has an unterminated quote'],
  [/Maximum line size/i, TOO_LONG, LONG_LINE_HINT],
  [/not utf-8|Invalid unicode|utf-8 encoded/i, 'is not UTF-8', ENCODING_HINT],
];
