import { join } from 'node:path';
import { onAbort, ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { Call, Engine, FrameStream, QueryResult, SqlValue, StatementMonitor } from '@svc/frames';
import { createTimeLimit, createYield, tenantShare, type TimeLimit } from '@svc/frames/async';
import { checkSqlText } from '@svc/frames/sql';
import { Field, type RecordBatch, Schema, Table, Utf8, vectorFromArray } from 'apache-arrow';
import type { ChildLink } from '../child-link/child-link.ts';
import type { OnSpans } from '../child-link/pending-request.ts';
import { sweepAbandoned } from '../disk/private-directory.ts';
import type { SqlFrames } from '../store/sql-frames.ts';
import { decodeBatch } from '../types/batch-codec.ts';
import type { SqlParam } from '../wire/requests.ts';
import { parameterSchema } from './frame-view.ts';
import {
  createSqlChild,
  createSqlChildren,
  DIRECTORY_PREFIX,
  type SqlChild,
  type SqlChildOptions,
} from './children.ts';
import { createStatement, type Statement } from './statement.ts';

/** Options of `createSqlEngine`. */
export interface SqlEngineOptions extends SqlChildOptions {
  /** The store whose frames are the tables, from `createDurableStore`. The engine does not close it. */
  readonly store: SqlFrames;
  /**
   * How long a statement may take until its first rows, and then for each further batch. Default 60 000.
   */
  readonly timeoutMs?: number;
  /** The most statements that run at the same time. Default 4. */
  readonly maxConcurrent?: number;
  /** True if there are several tenants: each has at most three quarters of the slots. Default false. */
  readonly hasTenants?: boolean;
  /** The most waiting statements. Default 64. */
  readonly maxQueued?: number;
  /**
   * While others wait, a statement that has no rows after this time is interrupted and restarted later, after shorter
   * ones, with four times the limit, then sixteen times; after that it is no longer interrupted. Default 250.
   */
  readonly shortMs?: number;
  /** How long an idle child is kept. Default 30 000. */
  readonly idleMs?: number;
  /** The delay before the first child is started ahead of any statement. Default 0: immediately. */
  readonly startAheadMs?: number;
  /** Called with every started child. Default: none. */
  readonly onChild?: (child: Pick<ChildLink, 'exited'>) => void;
  /** Called with the spans of a child's work on a call whose trace is recorded. Default: there are none. */
  readonly onSpans?: OnSpans;
}

/** The version of DuckDB in the children. This process does not load it, so it cannot ask. */
const DUCKDB_VERSION = '1.5.6';

/** Creates an engine for SQL on the frames of a store, in sandboxed child processes. */
export function createSqlEngine(options: SqlEngineOptions): Engine {
  const { store, tempDirectory, timeoutMs = 60_000 } = options;
  const {
    maxConcurrent = 4,
    hasTenants = false,
    maxQueued = 64,
    shortMs = 250,
    idleMs = 30_000,
    startAheadMs = 0,
  } = options;
  // In the background. If the directory cannot be listed, there is nothing to sweep.
  sweepAbandoned(tempDirectory, new RegExp(`^${DIRECTORY_PREFIX}\\d+-`)).catch(() => undefined);
  const start = (): SqlChild => {
    const child = createSqlChild(options);
    options.onChild?.(child);
    return child;
  };
  const maxPerTenant = hasTenants ? tenantShare(maxConcurrent) : maxConcurrent;
  const slots = { maxConcurrent, maxPerTenant, maxQueued, shortMs };
  const children = createSqlChildren({ start, ...slots, idleMs, startAheadMs });
  const shared = { store, privatePaths: [join(tempDirectory, DIRECTORY_PREFIX)] };

  /** The limits of all running and waiting statements. */
  const limits = new Set<TimeLimit>();
  let statements = 0;

  /** Runs work on a statement, and repeats it if the statement was interrupted for another. A failure ends the statement. */
  async function run<T>(
    call: Call,
    sql: string,
    work: (statement: Statement) => Promise<T>,
    monitor?: StatementMonitor,
  ): Promise<T> {
    checkSqlText(sql);
    const limit = createTimeLimit(call.signal, { sql, timeoutMs, setting: 'sql.timeout_ms' });
    limits.add(limit);
    onAbort(limit.signal, () => limits.delete(limit));
    const request = { caller: call, order: (statements += 1), onWait: monitor?.queued };
    for (let ranMs = 0; ;) {
      const slot = await children.take({ ...request, ranMs }, limit.signal).catch((error: unknown) => {
        limit.abort(new ServiceError('cancelled', 'The statement did not start.'));
        throw error;
      });
      monitor?.running();
      const statement = createStatement({ ...shared, call, sql, limit, slot, onProgress: monitor?.progressed });
      try {
        return await work(statement);
      } catch (error) {
        if (statement.isInterrupted) {
          ranMs = slot.ranMs();
          statement.release();
          continue;
        }
        const failure = await statement.failure(error);
        statement.end();
        throw failure;
      }
    }
  }

  return {
    async query(call, sql, { params = [], reuseBuffers = false, monitor } = {}) {
      const values = params.map((value) => sqlParam(value));
      return run(call, sql, (statement) => startQuery(statement, values, reuseBuffers), monitor);
    },
    describe: (call, sql) =>
      run(call, sql, async (statement) => {
        const names = await statement.check();
        const { columns, parameters } = names === undefined ? await statement.prepare() : NO_STATEMENT;
        const { schema } = names === undefined ? await statement.plan(columns) : namesStream(names);
        statement.end();
        return { schema, parameters: parameterSchema(parameters) };
      }),
    product: `DuckDB ${DUCKDB_VERSION}`,
    processes: () => children.size(),
    async close() {
      for (const limit of limits) limit.abort(new ServiceError('unavailable', 'The engine is closed.'));
      await children.close();
    },
  };
}

/** SHOW TABLES is not prepared. */
const NO_STATEMENT = { columns: [], parameters: [] };

async function startQuery(
  statement: Statement,
  params: readonly SqlParam[],
  reuseBuffers: boolean,
): Promise<QueryResult> {
  const names = await statement.check();
  if (names !== undefined) {
    statement.end();
    return { ...namesStream(names), close: () => {} };
  }
  const { columns } = await statement.prepare(params);
  const { schema, ...plan } = await statement.plan(columns);
  const payloads = statement.rows(plan, { reuseBuffers });
  const first = await payloads.next();
  try {
    statement.beginSending();
  } catch (error) {
    // Otherwise the arrived batches would be kept forever.
    void payloads.return(0);
    throw error;
  }
  statement.limit.stop();
  statement.releaseWhenSent();

  function end(): void {
    statement.end();
    void payloads.return(0);
  }

  async function* batches(): AsyncGenerator<RecordBatch> {
    try {
      for (let next = first; next.done !== true; next = await payloads.next()) {
        statement.limit.stop();
        yield decodeBatch(schema, next.value);
        statement.limit.start();
      }
      // A closed result is incomplete.
      statement.limit.signal.throwIfAborted();
    } catch (error) {
      throw await statement.failure(error);
    } finally {
      end();
    }
  }

  return { schema, batches: batches(), close: end };
}

const NAMES = new Schema([new Field('name', new Utf8(), true)]);
const NAMES_PER_BATCH = 1000;

function namesStream(names: readonly string[]): FrameStream {
  async function* batches(): AsyncGenerator<RecordBatch> {
    const pause = createYield();
    for (let at = 0; at < names.length; at += NAMES_PER_BATCH) {
      await pause();
      const part = vectorFromArray(names.slice(at, at + NAMES_PER_BATCH), new Utf8());
      yield* new Table(NAMES, { name: part }).batches;
    }
  }
  return { schema: NAMES, batches: batches() };
}

/** The types of parameters given as text. */
const TYPES = new Set(
  `BIGINT BIGNUM BIT BLOB BOOLEAN DATE DOUBLE FLOAT HUGEINT INTEGER INTERVAL JSON SMALLINT TIME TIMESTAMP TIMESTAMPTZ
   TIMESTAMP_MS TIMESTAMP_NS TIMESTAMP_S TIMETZ TINYINT UBIGINT UHUGEINT UINTEGER USMALLINT UTINYINT UUID VARCHAR`.split(
    /\s+/,
  ),
);
const DECIMAL = /^DECIMAL\(\d{1,2},\s*\d{1,2}\)$/;
/** The end of the type of a list. */
const LISTS = /(?:\[\]){1,8}$/;
const MAX_INTEGER = 2 ** 31;
const MAX_BIGINT = 2n ** 63n;

/** Returns the value of a parameter in the form for the child. */
function sqlParam(value: SqlValue): SqlParam {
  if (value === null) return { type: 'VARCHAR', text: null };
  if (typeof value === 'boolean') return { type: 'BOOLEAN', text: String(value) };
  if (typeof value === 'string') return { type: 'VARCHAR', text: value };
  if (typeof value === 'bigint') return { type: bigintType(value), text: String(value) };
  if (typeof value === 'number') return { type: numberType(value), text: numberText(value) };
  if (value instanceof Uint8Array) return { type: 'BASE64', text: Buffer.from(value).toString('base64') };
  const type = value.type.trim().toUpperCase();
  const element = type.replace(LISTS, '');
  if (!TYPES.has(element) && !DECIMAL.test(element)) {
    throw new ServiceError('invalid_argument', `A parameter has the unknown type ${quoted(value.type)}.`, {
      hint: `Use one of: ${[...TYPES].join(', ')}, DECIMAL(precision, scale), or a list of one of them: INTEGER[].`,
    });
  }
  return { type, text: value.text };
}

/** INTEGER if the value fits, like a literal in SQL: DuckDB cannot add a BIGINT to a date. */
function numberType(value: number): string {
  if (!Number.isSafeInteger(value) || Object.is(value, -0)) return 'DOUBLE';
  return value >= -MAX_INTEGER && value < MAX_INTEGER ? 'INTEGER' : 'BIGINT';
}

function numberText(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  return String(value).replace('Infinity', 'inf');
}

function bigintType(value: bigint): string {
  return value >= -MAX_BIGINT && value < MAX_BIGINT ? 'BIGINT' : 'HUGEINT';
}
