import { ServiceError } from '@svc/errors';
import { orAborted, quoted } from '@svc/errors/internal';
import type { Call, Engine, PinnableFrames, QueryOptions, QueryResult } from '@svc/frames';
import { createSemaphore, tenantShare, type TimeLimit } from '@svc/frames/async';
import { Field, Null, type RecordBatch, Schema } from 'apache-arrow';
import { type Cluster, type Driver, type DriverResult, schedulerFailed, toStatementError } from './driver.ts';
import type { SqlDialect } from './fence/check-statement.ts';
import { createFlightDriver } from './flight-sql/create-flight-driver.ts';
import { createSparkDriver } from './spark-connect/create-spark-driver.ts';
import { createRowCheck, type RunningStatement, startStatement } from './start-statement.ts';

/** Options of `createSchedulerEngine`. */
export interface SchedulerOptions extends EngineOptions {
  readonly cluster: Cluster;
  /**
   * How an engine that speaks Flight SQL reads a file, such as `read_parquet('{uri}')`. Default: it reads none, and the
   * tables are its own.
   */
  readonly readFile?: string | undefined;
}

/** Creates an engine for SQL on a cluster, over the caller's frames as files for the cluster. */
export function createSchedulerEngine({ cluster, readFile, ...options }: SchedulerOptions): Engine {
  switch (cluster.protocol) {
    case 'spark-connect':
      return createDriverEngine({ driver: createSparkDriver(cluster), dialect: 'spark', readsFiles: true }, options);
    case 'flight-sql': {
      const driver = createFlightDriver(cluster, { readFile });
      return createDriverEngine({ driver, dialect: 'standard', readsFiles: readFile !== undefined }, options);
    }
    default:
      return cluster.protocol satisfies never;
  }
}

/** Options of an engine for all protocols. */
export interface EngineOptions {
  /** The store whose frames are the tables. The engine does not close it. */
  readonly frames: PinnableFrames;
  /** Returns the cluster's name of a file of a frame; undefined if it does not see the file. */
  readonly locate: (path: string, storedPath: string) => string | undefined;
  /**
   * How long a statement may take until its first rows, and then for each requested batch. Default
   * 600 000.
   */
  readonly timeoutMs?: number;
  /** The number of running statements. Default 8. */
  readonly maxConcurrent?: number;
  /** True if there are several tenants: each runs and queues at most three quarters of the statements. Default false. */
  readonly hasTenants?: boolean;
  /** The number of waiting statements. Default 64. */
  readonly maxQueued?: number;
  /** How long a stopped statement keeps its slot while the cluster does not confirm the stop. Default 5000. */
  readonly stopMs?: number;
  /** Called if the cluster has not confirmed a stop within `stopMs`. Default: nothing. */
  readonly onNotStopping?: (call: Call) => void;
}

/** What the protocol of a cluster determines. */
interface EngineParts {
  readonly driver: Driver;
  readonly dialect: SqlDialect;
  /** True if the driver binds frames as files. Otherwise the tables are those of the other engine. */
  readonly readsFiles: boolean;
}

/** Creates an engine over a driver. It closes the driver. */
export function createDriverEngine({ driver, dialect, readsFiles }: EngineParts, options: EngineOptions): Engine {
  const { frames, locate, timeoutMs = 600_000, maxConcurrent = 8, maxQueued = 64, stopMs = 5000 } = options;
  const { onNotStopping, hasTenants = false } = options;
  const share = hasTenants ? tenantShare : (all: number) => all;
  const slots = createSemaphore(maxConcurrent, share(maxConcurrent));
  const checkRows = createRowCheck(driver);
  const limits = new Set<TimeLimit>();
  const files = { dialect, readsFiles, frames, locate, checkRows };
  const queue = { slots, maxQueued, maxQueuedPerTenant: share(maxQueued) };
  const starting = { ...files, ...queue, timeoutMs, stopMs, onNotStopping, limits };
  let isClosed = false;

  async function start(
    call: Call,
    sql: string,
    watched?: Pick<QueryOptions, 'monitor' | 'params'>,
  ): Promise<RunningStatement> {
    if (isClosed) throw closedError();
    return startStatement(starting, call, sql, watched);
  }

  /** Returns the error of a statement. A missing table of the other engine may be a frame of this server. */
  async function explain(
    error: unknown,
    { statement: { sql, tenant }, tables }: RunningStatement,
  ): Promise<ServiceError> {
    const failure = toStatementError(error, sql);
    const missing = readsFiles || failure.code !== 'invalid_sql' ? undefined : missingTable(failure.message);
    const isMissing = (name: string): boolean => missing === name || missing?.endsWith(`.${name}`) === true;
    const name = tables.map((table) => table.name.toLowerCase()).find(isMissing);
    if (name === undefined) return failure;
    const pin = await frames.pin({ tenant, name });
    pin?.release();
    return pin === undefined ? failure : unseenFrame(pin.handle, failure);
  }

  return {
    async query(call, sql, { params = [], monitor } = {}) {
      const running = await start(call, sql, { params, monitor });
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
        throw await explain(error, running);
      }
    },
    async describe(call, sql) {
      const running = await start(call, sql);
      const describing = driver.describe(running.statement, running.limit.signal);
      try {
        const schema = await orAborted(describing, running.limit.signal);
        return { schema, parameters: untypedParameters(running.statement.parameters) };
      } catch (error) {
        throw await explain(error, running);
      } finally {
        running.end(describing);
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
  running: RunningStatement,
  stop: () => Promise<unknown>,
): Promise<QueryResult> {
  const { statement, limit } = running;
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
      // A closed result is incomplete.
      limit.signal.throwIfAborted();
    } catch (error) {
      throw toStatementError(error, statement.sql);
    } finally {
      running.end(stop());
    }
  }

  return { schema, batches: batches(), close: () => running.end(stop()) };
}

/** The words of engines for a missing table. Its columns have errors of their own. */
const MISSING = [
  /(?<!\bof )\b(?:table|view|relation|object)(?: with name)?:?\s+(\S+)\s+(?:(?:was |is )?not found|(?:does not|doesn't) exist)/i,
  /\b(?:no (?:frame|such table|table)|unknown (?:table|relation)|table (?:not found|does not exist)):?\s+(\S+)/i,
];

/** Returns the missing table of an engine, perhaps with the names of its schema, in lower case. */
function missingTable(message: string): string | undefined {
  const [found] = MISSING.flatMap((pattern) => pattern.exec(message)?.[1] ?? []);
  return found
    ?.replaceAll(/["'`[\]]|[.,;:!?]+$/g, '')
    .replace(/^table=/, '')
    .toLowerCase();
}

function unseenFrame(handle: string, { query, cause }: ServiceError): ServiceError {
  return schedulerFailed(`The scheduler does not see the frame ${quoted(handle)}.`, {
    hint: 'Without scheduler.read_file, the tables are those of the other engine: store the frame there, or set it.',
    ...(query !== undefined && { query }),
    cause,
  });
}

/** The cluster does not report the types of parameters. */
function untypedParameters(count: number): Schema {
  return new Schema(Array.from({ length: count }, (_, i) => new Field(String(i + 1), new Null(), true)));
}

function closedError(): ServiceError {
  return new ServiceError('unavailable', 'The engine is closed.');
}
