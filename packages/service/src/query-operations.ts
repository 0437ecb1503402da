import { ServiceError } from '@svc/errors';
import {
  type Call,
  createHandle,
  type FrameRef,
  parseHandle,
  type PutOptions,
  type PutResult,
  type QueryResult,
  type Quota,
  type Store,
} from '@svc/frames';
import { checkPutConditions } from '@svc/frames/internal';
import type { TsdbResponse } from '@svc/tsdb-proxy';
import type { Audit } from './audit.ts';
import { defaultOf, engineOf, type Engines, namesOf } from './configured-engines.ts';
import type { SqlTarget } from './engine-names.ts';
import { eventSource } from './event-source.ts';
import type { Observer } from './events.ts';
import type { Forward } from './forward-operation.ts';
import { limitRows, limitUpload } from './limit-upload.ts';
import type { RunningQueries } from './running/running-queries.ts';
import type { RunningQuery } from './running/running-query.ts';
import type { KeepQueryOptions, KeptQuery, OperationName, QueryFramesOptions, Service, SqlResult } from './service.ts';
import { startQuery } from './start-query.ts';
import { checkTtl } from './ttl.ts';

/** Dependencies of the SQL operations. */
export interface QueryParts {
  readonly store: Store;
  readonly engines: Engines;
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
  const { observe, begin, engines } = parts;
  const names = namesOf(engines);
  const byDefault = defaultOf(names);

  async function query(call: Call, sql: string, options: QueryFramesOptions = {}): Promise<SqlResult> {
    const { engine = byDefault } = options;
    begin(call, 'query', engine);
    const run = engineOf(engines, engine);
    const running = parts.running.begin(call, sql, engine);
    try {
      return endWithResult(await startQuery(running, run, options, parts.idleTimeoutMs), running);
    } catch (error) {
      running.end(error);
      throw error;
    }
  }

  /** Runs a statement and stores its result. */
  async function keep(call: Call, { sql, ref, engine, options }: Keeping): Promise<KeptQuery> {
    const { params = [], ...conditions } = options;
    const put: PutOptions = { ...conditions, quota: parts.quotaOf(call.tenant), origin: call };
    // Do not run a query whose result cannot be stored.
    checkPutConditions(ref, await parts.store.describe(ref), put);
    const run = engine === 'tsdb' ? parts.forward.check() : engineOf(engines, engine);
    const running = parts.running.begin(call, sql, engine);
    const { signal } = running.call;
    try {
      const stored = await (run === undefined
        ? keepExport(parts, running, ref, { put: { ...put, signal }, params })
        : keepResult(parts, running, await startQuery(running, run, { params }, parts.idleTimeoutMs), ref, {
            ...put,
            signal,
          }));
      running.addBytes(stored.info.bytes);
      running.end();
      return { ...stored, timing: running.timing() };
    } catch (error) {
      running.end(error);
      throw error;
    }
  }

  return {
    engines: names,
    query,

    async describeQuery(call, sql, engine = byDefault) {
      begin(call, 'describeQuery', engine);
      return engineOf(engines, engine).describe(call, sql);
    },

    async keepQuery(call, sql, { engine = byDefault, ...options } = {}) {
      const name = options.handle ?? createHandle();
      return parts.audit.write(call, 'keepQuery', name, async () => {
        begin(call, 'keepQuery', engine);
        checkTtl(options.ttlSeconds);
        const handle = parseHandle(name);
        const ref = { tenant: call.tenant, handle };
        const startMs = performance.now();
        const result = await keep(call, { sql, ref, engine, options });
        const { rows, bytes } = result.info;
        const durationMs = performance.now() - startMs;
        const written = { rows, rowsWritten: rows, bytes, created: result.created };
        observe({ kind: 'frame_put', ...eventSource(call), handle, ...written, durationMs });
        return result;
      });
    },
  };
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
    sent(bytes) {
      query.addBytes(bytes);
      query.checkBytes();
    },
    close(error) {
      result.close();
      query.end(error ?? failure);
    },
  };
}

interface Keeping {
  readonly sql: string;
  readonly ref: FrameRef;
  readonly engine: SqlTarget;
  readonly options: Omit<KeepQueryOptions, 'engine'>;
}

async function keepResult(
  { store, maxUploadBytes }: QueryParts,
  query: RunningQuery,
  result: QueryResult,
  ref: FrameRef,
  put: PutOptions,
): Promise<PutResult> {
  try {
    return await store.put(
      ref,
      limitRows(result, maxUploadBytes, (bytes) => query.checkBytes(bytes)),
      put,
    );
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
    const body = limitUpload({ format: 'parquet', body: checkedBytes(file, query) }, maxUploadBytes);
    return await store.put(ref, { format: 'parquet', body }, put);
  } finally {
    // A refused put has not read the file, which holds a connection until it is cancelled.
    await file.cancel().catch(() => {});
  }
}

/** Passes the bytes of a result through, and checks how many they are. */
async function* checkedBytes(body: ReadableStream<Uint8Array>, query: RunningQuery): AsyncGenerator<Uint8Array, void> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    query.checkBytes(bytes);
    yield chunk;
  }
}

/** Runs SQL in the time-series database and returns the result as the bytes of a Parquet file. */
async function tsdbExport(call: Call, sql: string, forward: Forward['send']): Promise<ReadableStream<Uint8Array>> {
  const response = await forward(call, {
    path: '/exp',
    params: [
      ['query', sql],
      ['fmt', 'parquet'],
    ],
  });
  const { status, headers, body } = response;
  const isFile = status === 200 && !/json|text/i.test(headers['content-type'] ?? '');
  if (isFile && body !== null) return body;
  throw refusal(sql, status, await firstText(response));
}

/** Returns the error of an unsuccessful response, which is JSON if the database rejected the SQL. */
function refusal(sql: string, status: number, text: string): ServiceError {
  const { error, position } = parsed(text);
  if (typeof error !== 'string' || status >= 500) {
    return new ServiceError(
      'tsdb_failed',
      `The time-series database answered ${status} instead of sending a Parquet file.`,
    );
  }
  if (status === 403) return new ServiceError('permission_denied', error, { query: sql });
  return new ServiceError('invalid_sql', error, {
    query: sql,
    ...(Number.isSafeInteger(position) && { position: Number(position) }),
  });
}

function parsed(text: string): { readonly error?: unknown; readonly position?: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

const MAX_TEXT_BYTES = 64 * 1024;

async function firstText({ body }: TsdbResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop cancels the rest of the body.
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > MAX_TEXT_BYTES) break;
  }
  return Buffer.concat(chunks).toString();
}
