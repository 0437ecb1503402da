import { ServiceError, toServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import {
  ChildCrash,
  ChildError,
  isBroken,
  isBrokenByAnother,
  isOutOfMemory,
  OOM_KILL_HINT,
} from '../child-link/child-errors.ts';
import { csvError } from './csv/faults.ts';
import { unreadableParquet } from './parquet/faults.ts';

/** The kind of the failing source or file. A `stored file` is a Parquet file of ours. */
export type Subject = 'Parquet file' | 'stored file' | 'CSV file' | 'table' | 'new file';

/**
 * Converts an error of the child to one for the client. DuckDB's messages contain paths, so they go only to the log. A
 * full disk keeps its system error code, from DuckDB or from Node.
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
 * DuckDB's and Node's messages if a file cannot grow: a full disk, a quota, or the largest size of the system. The
 * last one is only for a failed write: in other errors DuckDB quotes lines of a CSV file.
 */
const NO_SPACE =
  /no space left on device|ENOSPC|disk quota exceeded|EDQUOT|max_temp_directory_size|^(?:IO Error|EFBIG): .*file too large/i;

/** DuckDB's IO errors of the system. All others are about the bytes of a file; so is a negative offset in it. */
const SYSTEM_ERROR =
  /^(?:IO Error: )?(?:Cannot |Could not (?!read enough)(?!read from file .*Invalid argument)|No files found|Failed to (?!read)|E[A-Z]+: )/;
const NOT_OF_A_FILE: ReadonlySet<string> = new Set(['INTERNAL', 'FATAL', 'INTERRUPT', 'Out of Memory', 'Connection']);

/**
 * True if DuckDB's error is about a malformed file. Too many open files, a failing disk or a broken engine
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

/** Refuses an upload with a duplicate column name. Case matters. */
export function refuseRepeatedName(format: 'CSV' | 'Parquet', names: readonly string[], hint: string): void {
  const known = new Set<string>();
  for (const name of names) {
    if (known.has(name)) {
      throw new ServiceError('invalid_data', `The ${format} file has two columns with the name ${quoted(name)}.`, {
        hint,
      });
    }
    known.add(name);
  }
}
