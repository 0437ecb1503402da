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
import { eventSource } from './read-operations.ts';
import { readWithIdleTimeout } from './read-with-idle-timeout.ts';
import type { KeepQueryOptions, OperationName, QueryFramesOptions, Service } from './service.ts';
import { tsdbExport } from './tsdb-export.ts';
import { checkTtl } from './ttl.ts';

/** Dependencies of the SQL operations. */
export interface QueryParts {
  readonly store: Store;
  readonly engines: Readonly<Partial<Record<EngineName, Engine>>>;
  readonly forward: Service['forward'];
  readonly maxUploadBytes: number;
  /** Returns what the frames of a tenant may occupy; undefined if that is not limited. */
  readonly quotaOf: (tenant: string) => Quota | undefined;
  /** How long the reader of a query result may pause. */
  readonly idleTimeoutMs: number;
  readonly observe: Observer;
  /** Throws if the call is cancelled, the caller lacks the permission, or the service is stopping. */
  readonly begin: (call: Call, operation: OperationName, target?: SqlTarget) => void;
  /** Counts a statement of a tenant as running until the function that it returns is called. Undefined: no limit. */
  readonly startQuery: (tenant: string) => (() => void) | undefined;
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

  async function query(call: Call, sql: string, options: QueryFramesOptions = {}): Promise<QueryResult> {
    begin(call, 'query', options.engine);
    const { engine = 'local', params = [], offset = 0, limit = Infinity, columns, reuseBuffers = false } = options;
    const startMs = performance.now();
    const run = engineOf(engine);
    const end = parts.startQuery(call.tenant);
    const running = run.query(call, sql, { params, reuseBuffers }).catch((error: unknown) => {
      end?.();
      throw error;
    });
    const result = readWithIdleTimeout(endWithResult(await running, end), parts.idleTimeoutMs);
    observe({ kind: 'query_answered', ...eventSource(call), engine, durationMs: performance.now() - startMs });
    try {
      const part = sliceStream(result, { offset, limit, ...(columns && { columns }), signal: call.signal });
      return { ...part, close: () => result.close() };
    } catch (error) {
      result.close();
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
        const result = await keep(parts, call, query, { sql, ref, options });
        const { rows, bytes } = result.info;
        const durationMs = performance.now() - startMs;
        observe({ kind: 'frame_put', ...eventSource(call), handle, rows, bytes, created: result.created, durationMs });
        return result;
      });
    },
  };
}

/** Calls `onEnd` when a result is closed. */
function endWithResult(result: QueryResult, onEnd: (() => void) | undefined): QueryResult {
  if (onEnd === undefined) return result;
  return {
    ...result,
    close() {
      onEnd();
      result.close();
    },
  };
}

interface Keeping {
  readonly sql: string;
  readonly ref: FrameRef;
  readonly options: KeepQueryOptions;
}

async function keep(
  { store, forward, maxUploadBytes, quotaOf }: QueryParts,
  call: Call,
  query: Service['query'],
  { sql, ref, options }: Keeping,
): Promise<PutResult> {
  const { engine = 'local', params = [], ...conditions } = options;
  const put: PutOptions = { ...conditions, quota: quotaOf(call.tenant), signal: call.signal };
  // Do not run a query whose result cannot be stored.
  checkPutConditions(ref, await store.describe(ref), put);
  if (engine !== 'tsdb') {
    const result = await query(call, sql, { engine, params });
    try {
      return await store.put(ref, limitRows(result, maxUploadBytes), put);
    } finally {
      result.close();
    }
  }
  if (params.length > 0) {
    throw new ServiceError('invalid_argument', 'SQL for the time-series database cannot have parameters.');
  }
  const file = await tsdbExport(call, sql, forward);
  try {
    const body = limitUpload({ format: 'parquet', body: file }, maxUploadBytes);
    return await store.put(ref, { format: 'parquet', body }, put);
  } finally {
    // A refused put has not read the file, which holds a connection until it is cancelled.
    await file.cancel().catch(() => {});
  }
}
