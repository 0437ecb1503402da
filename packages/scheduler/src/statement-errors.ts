import { ServiceError, toServiceError } from '@svc/errors';
import { counted } from '@svc/errors/internal';

/** Adds the SQL to an error of a statement. */
export function toStatementError(error: unknown, sql: string): ServiceError {
  const failure = toServiceError(error);
  if (failure.query !== undefined || !ABOUT_SQL.has(failure.code)) return failure;
  const { code, message, hint, position, cause } = failure;
  return new ServiceError(code, message, { query: sql, hint, ...(position !== undefined && { position }), cause });
}

const ABOUT_SQL: ReadonlySet<string> = new Set(['invalid_sql', 'permission_denied']);

/** The error of a statement with too few or too many values. */
export function wrongParameters(sql: string, expected: number, given: number): ServiceError {
  const message = `The SQL has ${counted(expected, 'parameter')}, but ${counted(given, 'value')} came with it.`;
  return new ServiceError('invalid_sql', message, {
    hint: 'Send one value for each ? in the SQL, in order.',
    query: sql,
  });
}

/** The error of a statement that would have to wait behind too many others. */
export function tooManyStatements(maxQueued: number): ServiceError {
  return new ServiceError(
    'too_many_requests',
    `The scheduler runs as many statements as it may, and ${maxQueued} more wait.`,
    { hint: 'Retry after the number of seconds in Retry-After, or raise scheduler.max_queued.' },
  );
}
