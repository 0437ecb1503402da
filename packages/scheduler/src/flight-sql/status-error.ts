import { status as Status } from '@grpc/grpc-js';
import { ERROR_CODES, type ErrorCode, ServiceError } from '@svc/errors';
import { charactersBefore, charactersIn } from '@svc/frames/sql';
import { type Cluster, schedulerFailed } from '../driver.ts';
import type { BoundSql } from './bind-frames.ts';

/** The status of a failed call. */
export interface FailedCall {
  readonly code: number;
  readonly details: string;
  /** Returns the first value of a trailing metadata key. */
  readonly trailer: (key: string) => string | undefined;
}

/** What a call was for. */
export interface CallContext {
  readonly cluster: Cluster;
  /** The statement, if the call is about one. */
  readonly sql?: string;
  readonly bound?: BoundSql;
  /** True if the engine only plans the statement in this call: a failure without a reason is then one of the SQL. */
  readonly isPlanning?: boolean;
}

/** Converts the status of a failed call to an error for the client. */
export function statusError(failed: FailedCall, context: CallContext): ServiceError {
  const error = peerError(failed, context) ?? engineError(failed, context);
  const { code, details } = failed;
  // An error, for the log.
  return Object.assign(error, { cause: Object.assign(new Error(`gRPC status ${code}: ${details}`), { code }) });
}

const UNIMPLEMENTED: number = Status.UNIMPLEMENTED;

/** True if a call failed because the server does not have it. */
export function isUnimplemented(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : undefined;
  return typeof cause === 'object' && cause !== null && 'code' in cause && cause.code === UNIMPLEMENTED;
}

/** Codes of another server of this kind with the same meaning for the client of this one. */
const SAME_CODES: ReadonlySet<ErrorCode> = new Set([
  'invalid_sql',
  'permission_denied',
  'too_many_requests',
  'out_of_memory',
  'out_of_disk',
  'deadline_exceeded',
]);

/** Returns the error of a server of this kind: it sends its code, hint and position. */
function peerError({ details, trailer }: FailedCall, { cluster, sql, bound }: CallContext): ServiceError | undefined {
  const code = trailer('svc-error-code');
  if (!isErrorCode(code)) return undefined;
  const hint = decoded(trailer('svc-error-hint')) ?? ERROR_CODES[code].hint;
  const message = details.endsWith(` ${hint}`) ? details.slice(0, -hint.length - 1) : details;
  if (code === 'unauthenticated' || (code === 'permission_denied' && LACKS_PERMISSION.test(message))) {
    return refusedToken(cluster, message, sql);
  }
  if (!SAME_CODES.has(code)) return schedulerFailed(`The scheduler failed: ${message}`, { ...about(sql), hint });
  const seconds = Number(trailer('retry-after'));
  return new ServiceError(code, message, {
    ...about(sql),
    hint,
    ...placed(numberFrom(trailer('svc-error-position')), bound),
    ...(seconds > 0 && { retryAfterSeconds: seconds }),
  });
}

/** The permissions of the token, not those of the SQL. */
const LACKS_PERMISSION = /^The caller lacks the permission /;

function isErrorCode(code: string | undefined): code is ErrorCode {
  return code !== undefined && Object.hasOwn(ERROR_CODES, code);
}

function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return text;
  }
}

function engineError({ code, details }: FailedCall, { cluster, sql, bound, isPlanning }: CallContext): ServiceError {
  const message = firstLine(details);
  switch (Status[code] ?? 'UNKNOWN') {
    case 'UNAUTHENTICATED':
    case 'PERMISSION_DENIED':
      return refusedToken(cluster, message, sql);
    case 'UNAVAILABLE':
      return schedulerFailed('The scheduler cannot be reached, or the connection to it broke.', about(sql));
    case 'DEADLINE_EXCEEDED':
      return new ServiceError('deadline_exceeded', `The scheduler ran out of time: ${message}`, about(sql));
    case 'RESOURCE_EXHAUSTED':
      return exhausted(message, sql);
    case 'INVALID_ARGUMENT':
    case 'OUT_OF_RANGE':
      return invalidSql(message, details, { sql, bound });
    case 'CANCELLED':
      return schedulerFailed(`The scheduler cancelled the statement: ${message}`, about(sql));
    default: {
      const isOfTheSql = isPlanning === true && !TRANSPORT.test(details);
      if (isOfTheSql) return invalidSql(message, details, { sql, bound });
      return schedulerFailed(`The scheduler failed: ${message}`, about(sql));
    }
  }
}

/** Failures reported by the gRPC library, not by the engine. */
const TRANSPORT = /RST_STREAM|Protocol error|No message received|Failed to (?:start|parse)|HTTP status|parsing error/i;

function invalidSql(
  message: string,
  details: string,
  { sql, bound }: { readonly sql: string | undefined; readonly bound: BoundSql | undefined },
): ServiceError {
  return new ServiceError('invalid_sql', message, { ...about(sql), ...placed(positionIn(details, bound), bound) });
}

/** Returns the place in a text of some engines, in code points. It is a range of bytes, or line and column. */
function positionIn(details: string, bound: BoundSql | undefined): number | undefined {
  if (bound === undefined) return undefined;
  const [, start] = / at (\d+):\d+ expected /.exec(details) ?? [];
  if (start !== undefined) return charactersBefore(bound.text, Number(start));
  const [, line, column] = /\bline:? (\d+),? (?:column|pos):? (\d+)/i.exec(details) ?? [];
  if (line === undefined) return undefined;
  const lines = bound.text.split('\n').slice(0, Number(line) - 1);
  return lines.reduce((sum, text) => sum + charactersIn(text) + 1, Number(column) - 1);
}

function placed(position: number | undefined, bound: BoundSql | undefined): { readonly position?: number } {
  const place = position === undefined ? undefined : bound?.placeIn(position);
  return place === undefined ? {} : { position: place };
}

function refusedToken({ token }: Cluster, message: string, sql: string | undefined): ServiceError {
  return schedulerFailed(`The scheduler refused the credentials: ${message}`, {
    ...about(sql),
    hint: token === undefined ? 'Set scheduler.token.' : 'Check scheduler.token: it may be wrong, expired or too weak.',
  });
}

function exhausted(message: string, sql: string | undefined): ServiceError {
  const isTooLong = message.includes('larger than max');
  return schedulerFailed(`The scheduler's answer cannot be taken: ${message}`, {
    ...about(sql),
    hint: isTooLong ? 'Select fewer columns or shorter values.' : 'Ask for less at once, or later.',
  });
}

/** Returns the first line, or the one of the last cause in a chain. */
function firstLine(details: string): string {
  const [line = ''] =
    details
      .split(/\n+caused by\n+/)
      .at(-1)
      ?.split('\n') ?? [];
  const text = line.trim();
  return text === '' ? 'It gave no reason.' : text.slice(0, MAX_MESSAGE_LENGTH);
}

const MAX_MESSAGE_LENGTH = 1000;

function numberFrom(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function about(sql: string | undefined): { readonly query?: string } {
  return sql === undefined ? {} : { query: sql };
}
