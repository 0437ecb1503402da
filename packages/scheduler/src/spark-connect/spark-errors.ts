import { cancelledError, ServiceError } from '@svc/errors';
import { charactersBefore, charactersIn } from '@svc/frames/sql';
import { ErrorInfo, type sparkConnect, Status as RpcStatus } from '@svc/proto';
import { ClientError, type Metadata, Status } from 'nice-grpc';
import { schedulerFailed } from '../driver.ts';
import type { SessionIdentity, SparkClient } from './spark-session.ts';
import { OPEN_LENGTH } from './plan.ts';

/** A failure in the server's own words. */
export interface Refusal {
  readonly message: string;
  /** Empty if the server does not send it. */
  readonly sqlState: string;
  /** The name of the error in Spark, such as DIVIDE_BY_ZERO; empty if unknown. */
  readonly errorClass: string;
  /** The offset in the SQL of the plan, in characters. */
  readonly startIndex?: number;
}

/** The server refused a plan, or failed to run it. */
export class RefusedPlan extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal, cause: ClientError) {
    super(refusal.message, { cause });
    this.refusal = refusal;
  }
}

/** The failed call. */
interface FailedCall {
  readonly client: SparkClient;
  readonly session: SessionIdentity;
  readonly trailer: Metadata | undefined;
}

/** Returns the error of an answered call: `RefusedPlan` if it is about the plan. */
export async function refusalOf(error: unknown, call: FailedCall): Promise<Error> {
  const isOfPlan = error instanceof ClientError && !TRANSPORT_FAILURES.has(error.code);
  return isOfPlan ? new RefusedPlan(await readRefusal(error, call), error) : transportError(error);
}

const DETAILS_TIMEOUT_MS = 10_000;

/** Returns what the server says about a failed call. Its status has little; the details are another call. */
async function readRefusal(error: ClientError, { client, session, trailer }: FailedCall): Promise<Refusal> {
  const info = errorInfoOf(trailer);
  const errorId = info?.metadata.get('errorId');
  const plain = {
    message: error.details,
    sqlState: info?.metadata.get('sqlState') ?? '',
    errorClass: info?.metadata.get('errorClass') ?? '',
  };
  if (errorId === undefined) return plain;
  try {
    const signal = AbortSignal.timeout(DETAILS_TIMEOUT_MS);
    const details = await client.fetchErrorDetails({ ...session, errorId }, { signal });
    return refusalFrom(details) ?? plain;
  } catch {
    return plain;
  }
}

function refusalFrom({ errors, rootErrorIdx }: sparkConnect.FetchErrorDetailsResponse): Refusal | undefined {
  const root = errors[rootErrorIdx ?? 0];
  if (root === undefined) return undefined;
  // A failure of a task is wrapped in one of its job.
  const chain = [root];
  for (let at = root.causeIdx; at !== undefined && chain.length <= errors.length; at = errors[at]?.causeIdx) {
    const cause = errors[at];
    if (cause !== undefined) chain.push(cause);
  }
  const found = chain.find(({ sparkThrowable }) => isOfStatement(sparkThrowable?.sqlState ?? '')) ?? root;
  const { sqlState = '', errorClass = '', queryContexts = [] } = found.sparkThrowable ?? {};
  const [context] = queryContexts;
  return { message: found.message, sqlState, errorClass, ...(context && { startIndex: context.startIndex }) };
}

/** The trailer of the call has the server's id of the details. */
function errorInfoOf(trailer: Metadata | undefined): ErrorInfo | undefined {
  const bytes = trailer?.get('grpc-status-details-bin');
  if (!(bytes instanceof Uint8Array)) return undefined;
  try {
    const info = RpcStatus.decode(bytes).details.find(({ typeUrl }) => typeUrl.endsWith('/google.rpc.ErrorInfo'));
    return info && ErrorInfo.decode(info.value);
  } catch {
    return undefined;
  }
}

/** The classes of SQLSTATE for faults of the statement, or of its data. */
const STATEMENT_CLASSES: ReadonlySet<string> = new Set(['0A', '21', '22', '42', 'P0']);

const PATH_NOT_FOUND = '42K03';
const OPERATION_CANCELED = 'HY008';

function isOfStatement(sqlState: string): boolean {
  return STATEMENT_CLASSES.has(sqlState.slice(0, 2)) && sqlState !== PATH_NOT_FOUND;
}

/** Returns the error of a refused statement. */
export function refusalError(refusal: Refusal, sql: string, cause: unknown): ServiceError {
  const { sqlState, errorClass } = refusal;
  if (isOfStatement(sqlState)) return invalidSql(refusal, sql, cause);
  if (sqlState === OPERATION_CANCELED) return cancelledError(cause, 'The scheduler cancelled the statement.');
  if (sqlState === PATH_NOT_FOUND) {
    return schedulerFailed('The scheduler does not see the files of a frame that the SQL names.', { cause });
  }
  const names = [errorClass, sqlState && `SQLSTATE ${sqlState}`].filter((name) => name !== '').join(', ');
  const reason = new Error(refusal.message, { cause });
  return schedulerFailed(`The scheduler failed to run the statement${names && ` (${names})`}.`, {
    hint: 'The log of this server has the reason under the request id.',
    cause: reason,
  });
}

/** Returns the error of an invalid statement. */
export function invalidSql(refusal: Refusal, sql: string, cause: unknown): ServiceError {
  const { message, place } = tidied(refusal.message);
  const start = knownIndex(refusal.startIndex) ?? (place && offsetOf(place, sql)) ?? offsetOfSail(refusal.message, sql);
  const position = start === undefined ? undefined : Math.min(Math.max(start - OPEN_LENGTH, 0), charactersIn(sql));
  return new ServiceError('invalid_sql', message, { query: sql, ...(position !== undefined && { position }), cause });
}

/** Spark sends -1 for an expression at a lost place, such as an overflowing sum. */
function knownIndex(index: number | undefined): number | undefined {
  return index === undefined || index < 0 ? undefined : index;
}

interface Place {
  /** From 1, in the SQL of the plan. */
  readonly line: number;
  /** From 0. */
  readonly column: number;
}

const MAX_MESSAGE_LENGTH = 1000;

/** Returns the first line of a message without its data: the class, the SQLSTATE and the place. */
function tidied(message: string): { readonly message: string; readonly place: Place | undefined } {
  const [, line, column] = /\bline (\d+),? pos (\d+)/.exec(message) ?? [];
  const place = line === undefined ? undefined : { line: Number(line), column: Number(column) };
  const text = message
    .trim()
    .replace(/^\[[A-Z0-9_.]+\]\s*/, '')
    .replace(/\n[^]*$/, '')
    // The patterns below take quadratic time for a long run of blanks, and the SQL may have one.
    .slice(0, 2 * MAX_MESSAGE_LENGTH)
    .replace(/\s*\(line \d+, pos \d+\)/, '')
    .replace(/;?\s*line \d+,? pos \d+;?\s*$/, '')
    .replace(/\s*SQLSTATE: \w{5}\s*$/, '')
    .replace(SAIL_PLACE, '$1')
    .trim();
  return { message: text.slice(0, MAX_MESSAGE_LENGTH) || 'The scheduler refused the SQL.', place };
}

/** Returns the offset of a place in the SQL of the plan. */
function offsetOf({ line, column }: Place, sql: string): number {
  // The first line of the plan is the parenthesis.
  const before = sql.split('\n').slice(0, Math.max(line - 2, 0));
  return OPEN_LENGTH + before.reduce((sum, text) => sum + charactersIn(text) + 1, 0) + (line < 2 ? 0 : column);
}

/** Sail names the first and the last byte of what it found. */
const SAIL_PLACE = /^(?:invalid argument: )?(found .*) at (\d+):\d+(?= expected )/;

function offsetOfSail(message: string, sql: string): number | undefined {
  const [, , bytes] = SAIL_PLACE.exec(message) ?? [];
  if (bytes === undefined) return undefined;
  return OPEN_LENGTH + charactersBefore(sql, Math.max(Number(bytes) - OPEN_LENGTH, 0));
}

const WRONG_CREDENTIALS = {
  message: 'The scheduler refused the credentials of this server.',
  hint: 'Check scheduler.token.',
};

/** The statuses without a word about a plan. */
const TRANSPORT_FAILURES: ReadonlyMap<Status, { readonly message: string; readonly hint?: string }> = new Map([
  [Status.UNAVAILABLE, { message: 'The scheduler cannot be reached, or the connection to it broke.' }],
  [Status.UNAUTHENTICATED, WRONG_CREDENTIALS],
  [Status.PERMISSION_DENIED, WRONG_CREDENTIALS],
  [
    Status.UNIMPLEMENTED,
    {
      message: 'The scheduler does not speak Spark Connect.',
      hint: 'Check that scheduler.url has the port of a Spark Connect server.',
    },
  ],
  [
    Status.RESOURCE_EXHAUSTED,
    { message: 'The scheduler has no resources left, or sent a message that is larger than 128 MiB.' },
  ],
]);

/** Returns the error of a call whose failure is not about a plan. */
export function transportError(error: unknown): ServiceError {
  const row = error instanceof ClientError ? TRANSPORT_FAILURES.get(error.code) : undefined;
  const { message = 'The scheduler did not answer as it should.', ...options } = row ?? {};
  return schedulerFailed(message, { ...options, cause: error });
}
