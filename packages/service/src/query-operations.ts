import { ServiceError } from '@svc/errors';
import {
  type Call,
  createHandle,
  type Engine,
  type FrameRef,
  type FrameStream,
  parseHandle,
  type PutOptions,
  type PutResult,
  type QueryResult,
} from '@svc/frames';
import { sliceStream } from '@svc/frames/columns';
import { rowsToInsert } from '@svc/frames/sql';
import { checkPutConditions } from '@svc/frames/store';
import type { TsdbResponse } from '@svc/tsdb-proxy';
import type { RecordBatch, Schema } from 'apache-arrow';
import { defaultOf, engineOf, type Engines, namesOf, type SqlTarget } from './engines.ts';
import { eventSource } from './events.ts';
import type { Forward } from './forward-operation.ts';
import { notFound, type OperationParts, schemaOf, shownInfo } from './frame-operations.ts';
import { checkTtl, limitRows, limitUpload } from './limits.ts';
import type { RunningQueries, RunningQuery } from './running-queries.ts';
import type {
  InsertedRows,
  InsertOptions,
  KeepQueryOptions,
  KeptQuery,
  QueryFramesOptions,
  Service,
  SqlResult,
} from './service.ts';

/** What the SQL operations share. */
interface QueryParts extends OperationParts {
  readonly engines: Engines;
  /** Sends SQL to the time-series database. */
  readonly forward: Forward;
  /** How long the reader of a query result may pause. */
  readonly idleTimeoutMs: number;
  readonly running: RunningQueries;
}

/** Creates the operations to run SQL and to store its results. */
export function createQueryOperations(
  parts: QueryParts,
): Pick<Service, 'describeQuery' | 'engines' | 'keepQuery' | 'query'> {
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
  async function keep(
    call: Call,
    sql: string,
    ref: FrameRef,
    engine: SqlTarget,
    { params = [], ...conditions }: Omit<KeepQueryOptions, 'engine'>,
  ): Promise<KeptQuery> {
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
        const result = await keep(call, sql, ref, engine, options);
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
    // A refused put has not read the file: it holds a connection until it is cancelled.
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

/** Returns the error of an unsuccessful response: JSON if the database rejected the SQL. */
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

/** Starts a statement; resolves when the first rows are ready. */
async function startQuery(
  query: RunningQuery,
  engine: Engine,
  options: QueryFramesOptions,
  idleTimeoutMs: number,
): Promise<QueryResult> {
  const { params = [], offset = 0, limit = Infinity, columns, reuseBuffers = false, onTotal } = options;
  const { call, sql, monitor } = query;
  const answer = closeOnce(await engine.query(call, sql, { params, reuseBuffers, monitor }));
  const result = readWithIdleTimeout(answer, idleTimeoutMs, (error) => query.end(error));
  query.send(() => result.close());
  try {
    const slice = { offset, limit, ...(columns && { columns }), signal: call.signal };
    const part = onTotal === undefined ? sliceStream(result, slice) : sliceCounted(result, slice, onTotal);
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

/** As `sliceStream`, but reads on after the slice, and calls `onTotal` with the number of all rows. */
function sliceCounted(
  { schema, batches }: QueryResult,
  options: Parameters<typeof sliceStream>[1],
  onTotal: (rows: number) => void,
): FrameStream {
  const source = batches[Symbol.asyncIterator]();
  let total = 0;
  const next = async (): Promise<IteratorResult<RecordBatch, undefined>> => {
    const read = await source.next();
    if (read.done === true) return { done: true, value: undefined };
    total += read.value.numRows;
    return read;
  };
  // Without `return`: the end of the slice must not end the source.
  const part = sliceStream({ schema, batches: { [Symbol.asyncIterator]: () => ({ next }) } }, options);
  return {
    schema: part.schema,
    batches: (async function* () {
      yield* part.batches;
      while ((await next()).done !== true);
      onTotal(total);
    })(),
  };
}

async function* countRows(batches: QueryResult['batches'], query: RunningQuery): QueryResult['batches'] {
  for await (const batch of batches) {
    query.addRows(batch.numRows);
    yield batch;
  }
}

/**
 * Closes a query result if its reader pauses for too long: an open result occupies an engine that others wait for. `onLate`
 * is called then, with the error of the next read.
 */
function readWithIdleTimeout(
  result: QueryResult,
  idleTimeoutMs: number,
  onLate: (error: ServiceError) => void,
): QueryResult {
  async function* batches(): QueryResult['batches'] {
    let lateness: ServiceError | undefined;
    const close = (): void => {
      lateness = notRead(idleTimeoutMs);
      result.close();
      onLate(lateness);
    };
    for await (const batch of result.batches) {
      const timer = setTimeout(close, idleTimeoutMs).unref();
      try {
        yield batch;
      } finally {
        clearTimeout(timer);
      }
      if (lateness !== undefined) throw lateness;
    }
  }
  return { schema: result.schema, batches: batches(), close: () => result.close() };
}

function notRead(idleTimeoutMs: number): ServiceError {
  return new ServiceError('deadline_exceeded', `The query result was not read for ${idleTimeoutMs} ms.`, {
    hint: 'Read the result without long pauses, or store it as a frame and read that.',
  });
}

/** Creates the operations to append rows by the order of their columns. */
export function createInsertOperations(parts: QueryParts): Pick<Service, 'appendQuery' | 'appendRows'> {
  const { store, engines, maxUploadBytes, quotaOf, audit, begin, observe } = parts;

  async function insert(
    call: Call,
    { ref, schema }: { readonly ref: FrameRef; readonly schema: Schema },
    rows: FrameStream,
    { columns }: InsertOptions,
  ): Promise<InsertedRows> {
    const { tenant, handle } = ref;
    const startMs = performance.now();
    const added = limitRows(rowsToInsert(schema, rows, columns), maxUploadBytes);
    const conditions = { ifPresent: true, quota: quotaOf(tenant), signal: call.signal, origin: call };
    const {
      info,
      rowsWritten = 0,
      created,
    } = await store.append(ref, added, conditions).catch((error: unknown) => {
      const isGone = error instanceof ServiceError && error.code === 'version_conflict';
      return isGone ? notFound(handle) : Promise.reject(error);
    });
    const written = { rows: info.rows, rowsWritten, bytes: info.bytes, created };
    const durationMs = performance.now() - startMs;
    observe({ kind: 'frame_appended', ...eventSource(call), handle, ...written, durationMs });
    return { info: shownInfo(call, info), rowsWritten };
  }

  return {
    appendRows: (call, name, rows, options = {}) =>
      audit.write(call, 'appendRows', name, async () => {
        begin(call, 'appendRows');
        const ref = { tenant: call.tenant, handle: parseHandle(name) };
        const schema = (await schemaOf(store, ref)) ?? notFound(name);
        return insert(call, { ref, schema }, rows, options);
      }),

    appendQuery: (call, name, sql, { engine = defaultOf(namesOf(engines)), params = [], ...options } = {}) =>
      audit.write(call, 'appendQuery', name, async () => {
        begin(call, 'appendQuery', engine);
        const ref = { tenant: call.tenant, handle: parseHandle(name) };
        // Do not run a query whose result cannot be appended.
        const schema = (await schemaOf(store, ref)) ?? notFound(name);
        const run = engineOf(engines, engine);
        const running = parts.running.begin(call, sql, engine);
        try {
          const result = await startQuery(running, run, { params }, parts.idleTimeoutMs);
          try {
            const rows = limitRows(result, maxUploadBytes, (bytes) => running.checkBytes(bytes));
            const inserted = await insert(running.call, { ref, schema }, rows, options);
            running.end();
            return inserted;
          } finally {
            result.close();
          }
        } catch (error) {
          running.end(error);
          throw error;
        }
      }),
  };
}
