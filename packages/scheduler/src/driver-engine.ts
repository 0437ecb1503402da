import { cancelledError, orAborted, ServiceError } from '@svc/errors';
import type { Call, Engine, PinnableFrames, QueryResult, SqlValue } from '@svc/frames';
import { checkSqlText, createSemaphore, createTimeLimit, type TimeLimit } from '@svc/frames/internal';
import { Field, Null, type RecordBatch, Schema } from 'apache-arrow';
import { type FramePins, NO_FRAMES, pinFrames } from './pin-frames.ts';
import type { BoundStatement, Driver, DriverResult } from './driver.ts';
import { checkStatement, type CheckedStatement, type SqlDialect } from './fence/check-statement.ts';
import { createRowCheck } from './row-check.ts';
import { toStatementError, tooManyStatements, wrongParameters } from './statement-errors.ts';

/** Options of an engine that are the same for all protocols. */
export interface EngineOptions {
  /** The store whose frames are the tables. The engine does not close it. */
  readonly frames: PinnableFrames;
  /** Returns the name that the cluster has for a file of a frame; undefined if it does not see the file. */
  readonly locate: (path: string) => string | undefined;
  /** How long a statement may take until its first rows, and then for each further batch that is requested. Default 600 000. */
  readonly timeoutMs?: number;
  /** The number of statements that run at the same time. Default 8. */
  readonly maxConcurrent?: number;
  /** The number of statements that may wait. Default 64. */
  readonly maxQueued?: number;
  /** How long a stopped statement keeps its slot while the cluster does not confirm the stop. Default 5000. */
  readonly stopMs?: number;
  /** Called if the cluster has not confirmed a stop within `stopMs`. Default: nothing. */
  readonly onNotStopping?: (call: Pick<Call, 'requestId' | 'tenant'>) => void;
}

/** A statement that holds a slot and its frames until `end`. */
interface Running {
  readonly statement: BoundStatement;
  readonly limit: TimeLimit;
  /** Ends the time limit at once; slot and frames are released when `stopped` resolves. Only the first call counts. */
  end(stopped: Promise<unknown>): void;
}

/** What the protocol of a cluster determines. */
export interface EngineParts {
  readonly driver: Driver;
  readonly dialect: SqlDialect;
  /** Whether the driver binds frames as files. Otherwise the tables are those of the other engine. */
  readonly readsFiles: boolean;
}

/** Creates an engine over a driver, which it closes. */
export function createDriverEngine({ driver, dialect, readsFiles }: EngineParts, options: EngineOptions): Engine {
  const { frames, locate, timeoutMs = 600_000, maxConcurrent = 8, maxQueued = 64 } = options;
  const { stopMs = 5000, onNotStopping } = options;
  const slots = createSemaphore(maxConcurrent);
  const checkRows = createRowCheck(driver);
  /** The limits of all statements that run or wait. */
  const limits = new Set<TimeLimit>();
  let isClosed = false;

  /** Checks a statement, waits for a slot, and binds its frames. */
  async function begin(call: Call, sql: string, params?: readonly SqlValue[]): Promise<Running> {
    if (isClosed) throw closedError();
    if (call.signal.aborted) throw cancelledError(call.signal.reason);
    checkSqlText(sql);
    const checked = checkStatement(sql, dialect);
    const { parameters } = checked;
    if (params !== undefined && params.length !== parameters) throw wrongParameters(sql, parameters, params.length);
    if (slots.waiting() >= maxQueued) throw tooManyStatements(maxQueued);
    const limit = createTimeLimit(call.signal, { sql, timeoutMs, setting: 'scheduler.timeout_ms' });
    limits.add(limit);
    let bound: FramePins = NO_FRAMES;
    let release = (): void => undefined;
    try {
      release = await slots.acquire(limit.signal);
      if (readsFiles) bound = await pin(call, checked, limit.signal);
      await orAborted(checkRows(call.tenant, bound.frames, limit.signal), limit.signal);
    } catch (error) {
      limits.delete(limit);
      limit.abort(closedResult());
      release();
      bound.release();
      throw error;
    }
    const { tenant, requestId } = call;
    const statement = {
      sql: checked.sql,
      params: params ?? [],
      parameters,
      frames: bound.frames,
      tenant,
      tag: tagOf(requestId),
    };
    let isEnded = false;
    return {
      statement,
      limit,
      end(stopped) {
        if (isEnded) return;
        isEnded = true;
        limits.delete(limit);
        limit.abort(closedResult());
        const timer = setTimeout(() => {
          release();
          onNotStopping?.(call);
        }, stopMs).unref();
        void stopped.finally(() => {
          clearTimeout(timer);
          release();
          // Until now, the cluster may have read the files.
          bound.release();
        });
      },
    };
  }

  /** Pins the frames. If the signal is aborted first, they are released when they arrive. */
  async function pin({ tenant }: Call, checked: CheckedStatement, signal: AbortSignal): Promise<FramePins> {
    const pinning = pinFrames(frames, checked, { tenant, locate });
    try {
      return await orAborted(pinning, signal);
    } catch (error) {
      void pinning.then(
        (late) => late.release(),
        () => undefined,
      );
      throw error;
    }
  }

  return {
    async query(call, sql, { params = [] } = {}) {
      const running = await begin(call, sql, params);
      const querying = driver.query(running.statement, running.limit.signal);
      const stop = (): Promise<unknown> =>
        querying.then(
          (result) => result.stop(),
          () => undefined,
        );
      try {
        const result = await orAborted(querying, running.limit.signal);
        return await readResult(result, running, stop);
      } catch (error) {
        running.end(stop());
        throw toStatementError(error, sql);
      }
    },
    async describe(call, sql) {
      const running = await begin(call, sql);
      const describing = driver.describe(running.statement, running.limit.signal);
      try {
        const schema = await orAborted(describing, running.limit.signal);
        return { schema, parameters: untypedParameters(running.statement.parameters) };
      } catch (error) {
        throw toStatementError(error, sql);
      } finally {
        running.end(describing.catch(() => undefined));
      }
    },
    async close() {
      isClosed = true;
      for (const limit of limits) limit.abort(closedError());
      await driver.close();
    },
  };
}

/** Waits for the first rows, and returns the result. */
async function readResult(
  { schema, batches: incoming }: DriverResult,
  { statement, limit, end }: Running,
  stop: () => Promise<unknown>,
): Promise<QueryResult> {
  const source = incoming[Symbol.asyncIterator]();
  const next = (): Promise<IteratorResult<RecordBatch>> => orAborted(source.next(), limit.signal);
  const first = await next();
  limit.stop();

  async function* batches(): AsyncGenerator<RecordBatch> {
    try {
      for (let one = first; one.done !== true; one = await next()) {
        limit.stop();
        yield one.value;
        limit.start();
      }
      // A result that was closed is incomplete.
      limit.signal.throwIfAborted();
    } catch (error) {
      throw toStatementError(error, statement.sql);
    } finally {
      end(stop());
    }
  }

  return { schema, batches: batches(), close: () => end(stop()) };
}

/** The cluster does not report the types of parameters. */
function untypedParameters(count: number): Schema {
  return new Schema(Array.from({ length: count }, (_, i) => new Field(String(i + 1), new Null(), true)));
}

/** Request ids may have characters that a tag must not have. */
function tagOf(requestId: string): string {
  return `svc-${requestId.replaceAll(/[^\w.-]/g, '_')}`;
}

function closedError(): ServiceError {
  return new ServiceError('unavailable', 'The engine is closed.');
}

function closedResult(): ServiceError {
  return new ServiceError('cancelled', 'The result was closed.');
}
