import { cancelledError, ServiceError, toServiceError } from '@svc/errors';
import { isOutOfFiles } from '@svc/errors/internal';
import { charactersBefore } from '@svc/frames/internal';
import type { SqlFault } from '../wire/sql-fault.ts';
import { ChildCrash, ChildError, OOM_KILL_HINT } from '../engine/child-errors.ts';
import type { PinnedSource } from '../store/sql-frames.ts';
import { missedColumn } from './shared-columns.ts';
import { unreadableFrame } from '../store/store-errors.ts';

/** The context of an error. */
export interface SqlContext {
  readonly sql: string;
  /** The frames that the statement names. */
  readonly pins: readonly PinnedSource[];
  /** Paths that must not appear in errors. */
  readonly privatePaths: readonly string[];
}

/** Converts a failure of a statement to the error for the client. Messages of DuckDB are kept, without paths. */
export function toSqlError(error: unknown, context: SqlContext): ServiceError {
  const { sql } = context;
  if (error instanceof ChildCrash) return crashError(error, sql);
  if (!(error instanceof ChildError)) return toServiceError(error);
  const { failure } = error;
  switch (failure.code) {
    case 'cancelled':
      return cancelledError(error);
    case 'invalid_sql':
    case 'permission_denied': {
      const { code, message, hint, position } = failure;
      const at = position === undefined ? {} : { position: charactersBefore(sql, position) };
      return new ServiceError(code, message, { query: sql, ...(hint !== undefined && { hint }), ...at });
    }
    case 'sql_fault':
      return faultError(failure, context, error);
    case 'unreadable_frame':
      return unreadableFrame(failure.frame, false, error);
    case 'duckdb':
    case 'damaged_file':
    case 'invalid_data':
      return toServiceError(error);
    default:
      return failure satisfies never;
  }
}

function faultError(fault: SqlFault, { sql, pins, privatePaths }: SqlContext, cause: ChildError): ServiceError {
  const { kind, position } = fault;
  const message = withoutPaths(fault.message, privatePaths);
  const isOfTheSystem = kind === 'Out of Memory' || OURS.has(kind);
  if (isOfTheSystem && /max_temp_directory_size|no space left on device|disk quota exceeded/i.test(fault.message)) {
    return new ServiceError('out_of_disk', 'The SQL needs more disk space than one statement may use.', {
      hint: 'Ask for less at once: filter earlier, or aggregate before sorting and joining.',
      query: sql,
      cause,
    });
  }
  if (
    kind === 'Out of Memory' ||
    (isOfTheSystem && /failed to allocate|bad_alloc|memory allocation fail|out of memory/i.test(fault.message))
  ) {
    return outOfMemory(sql, cause);
  }
  if (isOfTheSystem && isOutOfFiles(cause)) return toServiceError(cause);
  if (kind === 'Permission') {
    return new ServiceError('permission_denied', 'The SQL accesses something other than frames.', {
      query: sql,
      cause,
    });
  }
  if (kind === 'IO' && pins.some(({ info }) => info.isForeign)) {
    return new ServiceError('invalid_data', 'The file of a frame changed while it was read.', {
      query: sql,
      cause,
    });
  }
  if (fault.message === UNSAID) {
    return new ServiceError('invalid_sql', 'The SQL failed, and the engine could not report why.', {
      hint: 'Ask for less at once: the error message may not have fitted into memory.',
      query: sql,
      cause,
    });
  }
  if (OURS.has(kind)) return toServiceError(cause);
  const at = position === undefined ? {} : { position: charactersBefore(sql, position) };
  const shared = kind === 'Binder' ? missedColumn(fault.message, pins) : undefined;
  if (shared !== undefined)
    return new ServiceError('invalid_sql', shared.message, { ...shared, query: sql, cause, ...at });
  // The lines after the first say how to correct the SQL.
  const [first = '', ...help] = message.trim().split('\n');
  const said = help.join(' ').replaceAll(/\s+/g, ' ').trim();
  const hint = [said === '' ? said : sentence(said), textHint(first, sql)].join(' ').trim();
  return new ServiceError('invalid_sql', sentence(first), {
    query: sql,
    cause,
    ...(hint !== '' && { hint }),
    ...at,
  });
}

/** The hint of a name in double quotes that no column has: elsewhere, text is written like this. */
function textHint(fault: string, sql: string): string {
  const [, name] = /^Referenced column "(.{1,100})" not found/.exec(fault) ?? [];
  if (name === undefined || !sql.includes(`"${name}"`)) return '';
  return `Text is in single quotes: '${name.replaceAll("'", "''")}'.`;
}

function crashError(cause: ChildCrash, sql: string): ServiceError {
  if (cause.isOomKill) {
    return new ServiceError('out_of_memory', 'The system ended the engine while it ran the SQL: no memory was left.', {
      hint: OOM_KILL_HINT,
      query: sql,
      cause,
    });
  }
  if (cause.isOutOfMemory) return outOfMemory(sql, cause);
  if (cause.hasHung) {
    return new ServiceError('unavailable', 'The engine stopped responding while it ran the SQL, and was replaced.', {
      hint: 'Send the SQL again.',
      query: sql,
      cause,
    });
  }
  return new ServiceError('internal', 'The engine ended unexpectedly while it ran the SQL.', {
    hint: 'Send the SQL again; if it fails again, report it with the request id.',
    query: sql,
    cause,
  });
}

function outOfMemory(sql: string, cause: Error): ServiceError {
  return new ServiceError('out_of_memory', 'The SQL needs more memory than one statement may use.', {
    hint: 'Ask for less at once, or raise sql.memory_gb.',
    query: sql,
    cause,
  });
}

/** The binding's message if there is no memory for that of DuckDB. */
const UNSAID = 'Failed to execute prepared statement';

/** Failures that no SQL should cause; those without a kind are not from DuckDB. */
const OURS: ReadonlySet<string> = new Set(['', 'INTERNAL', 'FATAL', 'IO', 'Serialization', 'Connection', 'HTTP']);

function withoutPaths(message: string, paths: readonly string[]): string {
  return paths.reduce((text, path) => text.replaceAll(path, '…'), message);
}

function sentence(message: string): string {
  const text = message.trim();
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
