import { ServiceError } from '@svc/errors';
import {
  type Call,
  createHandle,
  type Engine,
  type FrameRef,
  parseHandle,
  type PutOptions,
  type PutResult,
  type QueryResult,
  type Quota,
  type Store,
} from '@svc/frames';
import { checkPutConditions, sliceStream } from '@svc/frames/internal';
import type { Audit } from './audit.ts';
import { ENGINE_NAMES, type EngineName, type SqlTarget } from './engine-names.ts';
import { engineNotConfigured } from './engine-not-configured.ts';
import type { Observer } from './events.ts';
import { limitUpload, limitRows } from './limit-upload.ts';
import type { Forward } from './forward-operation.ts';
import { eventSource } from './event-source.ts';
import { readWithIdleTimeout } from './read-with-idle-timeout.ts';
import type { RunningQueries } from './running-queries.ts';
import type { RunningQuery } from './running-query.ts';
import type { KeepQueryOptions, KeptQuery, OperationName, QueryFramesOptions, Service, SqlResult } from './service.ts';
import { tsdbExport } from './tsdb-export.ts';
import { checkTtl } from './ttl.ts';

/** Dependencies of the SQL operations. */
export interface QueryParts {
  readonly store: Store;
  readonly engines: Readonly<Partial<Record<EngineName, Engine>>>;
  /** Sends SQL to the time-series database. */
  readonly forward: Forward;
  readonly maxUploadBytes: number;
  /** Returns what the frames of a tenant may occupy; undefined if that is not limited. */
  readonly quotaOf: (tenant: string) => Quota | undefined;
  /** How long the reader of a query result may pause. */
  readonly idleTimeoutMs: number;
  readonly observe: Observer;
  /** Throws if the call is cancelled, the caller lacks the permission, or the service is stopping. */
  readonly begin: (call: Call, operation: OperationName, target?: SqlTarget) => void;
  readonly running: RunningQueries;
  readonly audit: Audit;
}

type QueryOperations = Pick<Service, 'describeQuery' | 'engines' | 'keepQuery' | 'query'>;

/** Creates the operations that run SQL and store query results. */
export function createQueryOperations(parts: QueryParts): QueryOperations {
  const { observe, begin } = parts;
  const engines = ENGINE_NAMES.filter((name) => parts.engines[name] !== undefined);

  function engineOf(name: EngineName): Engine {
    const engine = parts.engines[name];
    if (engine === undefined) throw engineNotConfigured(name, engines);
    return engine;
  }

  async function query(call: Call, sql: string, options: QueryFramesOptions = {}): Promise<SqlResult> {
    const { engine = 'local' } = options;
    begin(call, 'query', engine);
    const run = engineOf(engine);
    const running = parts.running.begin(call, sql, engine);
    try {
      return endWithResult(await start(running, run, options, parts.idleTimeoutMs), running);
    } catch (error) {
      running.end(error);
      throw error;
    }
  }

  /** Runs a statement and stores its result. */
  async function keep(call: Call, { sql, ref, options }: Keeping): Promise<KeptQuery> {
    const { engine = 'local', params = [], ...conditions } = options;
    const put: PutOptions = { ...conditions, quota: parts.quotaOf(call.tenant) };
    // Do not run a query whose result cannot be stored.
    checkPutConditions(ref, await parts.store.describe(ref), put);
    const run = engine === 'tsdb' ? parts.forward.check() : engineOf(engine);
    const running = parts.running.begin(call, sql, engine);
    const { signal } = running.call;
    try {
      const stored = await (run === undefined
        ? keepExport(parts, running, ref, { put: { ...put, signal }, params })
        : keepResult(parts, await start(running, run, { params }, parts.idleTimeoutMs), ref, { ...put, signal }));
      running.addBytes(stored.info.bytes);
      running.end();
      return { ...stored, timing: running.timing() };
    } catch (error) {
      running.end(error);
      throw error;
    }
  }

  return {
    engines,
    query,

    async describeQuery(call, sql, engine = 'local') {
      begin(call, 'describeQuery', engine);
      return engineOf(engine).describe(call, sql);
    },

    async keepQuery(call, sql, options = {}) {
      const name = options.handle ?? createHandle();
      return parts.audit.write(call, 'keepQuery', name, async () => {
        begin(call, 'keepQuery', options.engine);
        checkTtl(options.ttlSeconds);
        const handle = parseHandle(name);
        const ref = { tenant: call.tenant, handle };
        const startMs = performance.now();
        const result = await keep(call, { sql, ref, options });
        const { rows, bytes } = result.info;
        const durationMs = performance.now() - startMs;
        const written = { rows, rowsWritten: rows, bytes, created: result.created };
        observe({ kind: 'frame_put', ...eventSource(call), handle, ...written, durationMs });
        return result;
      });
    },
  };
}

/** Starts a statement; resolves when the first rows are ready. */
async function start(
  query: RunningQuery,
  engine: Engine,
  options: QueryFramesOptions,
  idleTimeoutMs: number,
): Promise<QueryResult> {
  const { params = [], offset = 0, limit = Infinity, columns, reuseBuffers = false } = options;
  const { call, sql, monitor } = query;
  const answer = closeOnce(await engine.query(call, sql, { params, reuseBuffers, monitor }));
  const result = readWithIdleTimeout(answer, idleTimeoutMs, (error) => query.end(error));
  query.send(() => result.close());
  try {
    const part = sliceStream(result, { offset, limit, ...(columns && { columns }), signal: call.signal });
    return { schema: part.schema, batches: countRows(part.batches, query), close: () => result.close() };
  } catch (error) {
    result.close();
    throw error;
  }
}

/** The client, the reader and the end of a call may each close a result. */
function closeOnce(result: QueryResult): QueryResult {
  let isClosed = false;
  return {
    ...result,
    close() {
      if (isClosed) return;
      isClosed = true;
      result.close();
    },
  };
}

async function* countRows(batches: QueryResult['batches'], query: RunningQuery): QueryResult['batches'] {
  for await (const batch of batches) {
    query.addRows(batch.numRows);
    yield batch;
  }
}

/** Ends a statement when its result is closed. */
function endWithResult(result: QueryResult, query: RunningQuery): SqlResult {
  let failure: unknown = new ServiceError('cancelled', 'The result was not read to its end.');

  async function* batches(): QueryResult['batches'] {
    try {
      yield* result.batches;
      failure = undefined;
    } catch (error) {
      failure = error;
      throw error;
    }
  }

  return {
    schema: result.schema,
    batches: batches(),
    timing: query.timing(),
    sent: (bytes) => query.addBytes(bytes),
    close(error) {
      result.close();
      query.end(error ?? failure);
    },
  };
}

interface Keeping {
  readonly sql: string;
  readonly ref: FrameRef;
  readonly options: KeepQueryOptions;
}

async function keepResult(
  { store, maxUploadBytes }: QueryParts,
  result: QueryResult,
  ref: FrameRef,
  put: PutOptions,
): Promise<PutResult> {
  try {
    return await store.put(ref, limitRows(result, maxUploadBytes), put);
  } finally {
    result.close();
  }
}

async function keepExport(
  { store, forward, maxUploadBytes }: QueryParts,
  query: RunningQuery,
  ref: FrameRef,
  { put, params }: { readonly put: PutOptions; readonly params: readonly unknown[] },
): Promise<PutResult> {
  if (params.length > 0) {
    throw new ServiceError('invalid_argument', 'SQL for the time-series database cannot have parameters.');
  }
  const file = await tsdbExport(query.call, query.sql, forward.send);
  query.send(() => undefined);
  try {
    const body = limitUpload({ format: 'parquet', body: file }, maxUploadBytes);
    return await store.put(ref, { format: 'parquet', body }, put);
  } finally {
    // A refused put has not read the file, which holds a connection until it is cancelled.
    await file.cancel().catch(() => {});
  }
}
