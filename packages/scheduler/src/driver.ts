import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError, type ServiceErrorOptions, toServiceError } from '@svc/errors';
import { counted } from '@svc/errors/internal';
import type { FrameStream, SqlValue, TraceContext } from '@svc/frames';
import type { Schema } from 'apache-arrow';

/** Speaks the protocol of a cluster. Failures are `ServiceError`s, with positions in the SQL of the statement. */
export interface Driver {
  /**
   * Runs a statement and resolves when its columns are known. The signal stops the statement and its result. If it
   * rejects, nothing of the statement runs any more, as far as the cluster can be asked.
   */
  query(statement: BoundStatement, signal: AbortSignal): Promise<DriverResult>;
  /** Returns the columns of a statement, without running it. */
  describe(statement: BoundStatement, signal: AbortSignal): Promise<Schema>;
  /** Stops all statements, and closes the connections even without a confirmation of the cluster. */
  close(): Promise<void>;
}

/** The rows of a statement on the cluster. */
export interface DriverResult extends FrameStream {
  /** Stops the statement in any state. Resolves when the cluster has confirmed its end. */
  stop(): Promise<void>;
  /** True if a statement fails when a file of its frames is missing. Default: the engine may read it as an empty table. */
  readonly noticesMissingFiles?: boolean;
}

/** A statement after the fence, and its frames. */
export interface BoundStatement {
  /** One query, and nothing after it. A driver puts it into parentheses: no command can stand in them. */
  readonly sql: string;
  /** The values of `?`, in order. */
  readonly params: readonly SqlValue[];
  /** The number of `?`. Without values, `describe` has to bind nulls. */
  readonly parameters: number;
  readonly frames: readonly BoundFrame[];
  readonly tenant: string;
  /** Identifies the statement on the cluster, for its operators. */
  readonly tag: string;
  /** The trace of the statement. Omitted if it is in none. */
  readonly trace?: TraceContext | undefined;
}

/**
 * A version of a frame, as files for the cluster. A statement with the name in several letter cases
 * has one for each.
 */
export interface BoundFrame {
  /** The name of the table, as the statement spells it. */
  readonly name: string;
  readonly handle: string;
  readonly version: string;
  readonly rows: number;
  /** The Parquet files, as the cluster names them: URIs, with their escapes. */
  readonly uris: readonly string[];
  /** The columns of the files. */
  readonly schema: Schema;
}

/** How to reach a cluster. */
export interface Cluster {
  readonly protocol: 'spark-connect' | 'flight-sql';
  readonly host: string;
  readonly port: number;
  readonly hasTls: boolean;
  /** The bearer token. Default: none. */
  readonly token?: string | undefined;
  /** The user of all Spark sessions. Default: the tenant. */
  readonly userId?: string | undefined;
  /** What Spark's logs call the client, before the name of this server. Default: nothing. */
  readonly userAgent?: string | undefined;
  /** The certificate authorities to trust, as PEM. Default: those of Node. */
  readonly ca?: Buffer | undefined;
}

/** Returns the address of a cluster, as gRPC takes it. */
export function addressOf({ host, port }: Cluster): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The maximum size of a message from a cluster. */
export const MAX_MESSAGE_BYTES: number = 128 * 2 ** 20;

/** Returns the error of an unreachable cluster, or of a wrong answer. */
export function schedulerFailed(message: string, options?: ServiceErrorOptions): ServiceError {
  return new ServiceError('scheduler_failed', message, options);
}

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

/** The error of a statement with too many others before it. */
export function tooManyStatements(maxQueued: number): ServiceError {
  return new ServiceError(
    'too_many_requests',
    `The scheduler runs as many statements as it may, and ${maxQueued} more wait.`,
    { hint: 'Retry after the number of seconds in Retry-After, or raise scheduler.max_queued.' },
  );
}

/** Work with a remembered result. */
export interface Remembered<Args extends readonly unknown[], T> {
  /** Returns the result. All callers share one run, with the arguments of the first. */
  get(...args: Args): Promise<T>;
  /** Runs the work again next time. */
  forget(): void;
}

/** Remembers the result of work. Failed work is done again next time. */
export function rememberSuccess<Args extends readonly unknown[], T>(
  run: (...args: Args) => Promise<T>,
): Remembered<Args, T> {
  let remembered: Promise<T> | undefined;

  function forget(): void {
    remembered = undefined;
  }

  return {
    async get(...args) {
      remembered ??= run(...args).catch((error: unknown) => {
        forget();
        throw error;
      });
      return remembered;
    },
    forget,
  };
}

/** A cluster that is busy may confirm a stop only after the time that a shutdown has. */
const CLOSE_MS = 1000;

/** Waits until a closing driver has stopped its statements, but not for long. */
export async function waitForStops(stops: readonly Promise<unknown>[], limitMs: number = CLOSE_MS): Promise<void> {
  const ended = new AbortController();
  const late = delay(limitMs, undefined, { signal: ended.signal }).catch(() => undefined);
  await Promise.race([Promise.all(stops), late]).finally(() => ended.abort());
}
